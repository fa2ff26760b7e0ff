package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// What follows is known where /proc is: on Linux. Elsewhere it is 0.

// userHZ is the unit of CPU times in /proc, for all that Linux tells programs.
const userHZ = 100

// memoryOf returns the memory of a process that is resident, and the most that
// was, in bytes.
func memoryOf(pid int) (now, peak int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return statusKB(status, "VmRSS:") << 10, statusKB(status, "VmHWM:") << 10
}

// statusKB returns a field of /proc/PID/status.
func statusKB(status []byte, field string) int64 {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(field)); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(rest)), "kB")), 10, 64)
			return n
		}
	}
	return 0
}

// cpuOf returns the CPU time of a process that runs.
func cpuOf(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before it may hold anything
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	return ticks(f[11]) + ticks(f[12]) // utime and stime: see proc(5)
}

// A busyness is what all CPUs together did since the system started.
type busyness struct {
	busy   time.Duration // something, but waiting
	stolen time.Duration // taken by the machine that this one runs on
}

func busynessNow() busyness {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return busyness{}
	}
	first, _, _ := strings.Cut(string(stat), "\n")
	return parseBusyness(first)
}

// parseBusyness reads the line "cpu" of /proc/stat: user nice system idle iowait
// irq softirq steal.
func parseBusyness(line string) (b busyness) {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return b
	}
	for _, i := range []int{1, 2, 3, 6, 7} {
		b.busy += ticks(f[i])
	}
	b.stolen = ticks(f[8])
	return b
}

func ticks(field string) time.Duration {
	n, _ := strconv.ParseInt(field, 10, 64)
	return time.Duration(n) * time.Second / userHZ
}
