package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// threadsNow returns the times of all threads of this process; nil when the
// kernel does not keep them.
func threadsNow() map[string]threadTimes {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	threads := make(map[string]threadTimes, len(entries))
	for _, e := range entries {
		text, err := os.ReadFile("/proc/self/task/" + e.Name() + "/schedstat")
		if err != nil {
			continue // the thread has ended, or the kernel keeps none
		}
		var ran, waited int64
		if n, _ := fmt.Sscan(string(text), &ran, &waited); n == 2 {
			threads[e.Name()] = threadTimes{time.Duration(ran), time.Duration(waited)}
		}
	}
	return threads
}

// ticks is the unit of /proc/stat, the same on every Linux that Go runs on.
const ticks = time.Second / 100

// stolenNow returns how long the hypervisor had this machine's CPUs do other
// things since it started.
func stolenNow() time.Duration {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return 0
	}
	defer f.Close()
	var head [512]byte // the first line is the sum of all CPUs
	n, _ := f.Read(head[:])
	return stolen(string(head[:n]))
}

// stolen reads the first line of /proc/stat.
func stolen(text string) time.Duration {
	const steal = 8 // fields of proc(5): cpu user nice system idle iowait irq softirq steal
	fields := strings.Fields(text)
	if len(fields) <= steal || fields[0] != "cpu" {
		return 0
	}
	n, err := strconv.ParseInt(fields[steal], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * ticks
}

// Resident returns the memory that this process has, in bytes.
func Resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var all, resident int64
	if n, _ := fmt.Sscan(string(text), &all, &resident); n < 2 {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// OpenDescriptors returns how many file descriptors this process has open. Its
// cost is in proportion to that.
func OpenDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries) - 1 // that of the directory itself
}

// MemoryLimit returns how much memory this process and its like can have, in bytes.
func MemoryLimit() int64 {
	most := memoryOfMachine()
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		var limit int64
		if n, _ := fmt.Sscan(string(text), &limit); n == 1 && limit > 0 && (most == 0 || limit < most) {
			most = limit
		}
	}
	return most
}

func memoryOfMachine() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kilobytes int64
	if n, _ := fmt.Sscanf(string(text), "MemTotal: %d kB", &kilobytes); n < 1 {
		return 0
	}
	return kilobytes << 10
}
