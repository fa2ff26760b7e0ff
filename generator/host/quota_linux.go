package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Quota returns how many CPUs' time the control groups of this process let it
// use; 0 when they set no limit.
func Quota() float64 {
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	return quota(string(membership), "/sys/fs/cgroup")
}

// quota is Quota of a process with these lines in /proc/self/cgroup, where the
// control groups are mounted at root.
func quota(membership, root string) float64 {
	least := 0.0
	for line := range strings.Lines(membership) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		var read func(dir string) float64
		mounted := root
		switch {
		case parts[1] == "":
			read = quotaV2
		case strings.Contains(","+parts[1]+",", ",cpu,"):
			read, mounted = quotaV1, filepath.Join(root, parts[1])
			if _, err := os.Stat(mounted); err != nil {
				mounted = filepath.Join(root, "cpu")
			}
		default:
			continue
		}
		// In a container the group is mounted as the root, whatever its path says.
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			if q := read(filepath.Join(mounted, dir)); q > 0 && (least == 0 || q < least) {
				least = q
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// quotaV2 reads cpu.max: "max 100000", or "150000 100000" for one and a half.
func quotaV2(dir string) float64 {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if err != nil {
		return 0
	}
	var most, period float64
	if n, _ := fmt.Sscan(string(text), &most, &period); n < 2 || period <= 0 {
		return 0
	}
	return most / period
}

func quotaV1(dir string) float64 {
	read := func(name string) float64 {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return 0
		}
		v, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
		if err != nil {
			return 0
		}
		return v
	}
	most, period := read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")
	if most <= 0 || period <= 0 { // -1: none
		return 0
	}
	return most / period
}
