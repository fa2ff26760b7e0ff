package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// threadsNow puts the times of all threads of this process into threads, which
// stays empty when the kernel does not keep them.
func (m *Meter) threadsNow(threads map[int]threadTimes) {
	m.ids = m.file.numbered(m.ids[:0], "/proc/self/task")
	for _, id := range m.ids {
		m.path = append(strconv.AppendInt(append(m.path[:0], "/proc/self/task/"...), int64(id), 10), "/schedstat"...)
		text := m.file.read(string(m.path)) // none: the thread has ended, or the kernel keeps no times
		ran, known := number(text, 0)
		if waited, more := number(text, 1); known && more {
			threads[id] = threadTimes{time.Duration(ran), time.Duration(waited)}
		}
	}
}

// ticks is the unit of /proc/stat, the same on every Linux that Go runs on.
const ticks = time.Second / 100

// stolenNow returns how long the hypervisor had this machine's CPUs do other
// things since it started.
func (m *Meter) stolenNow() time.Duration { return stolen(m.file.read("/proc/stat")) }

// stolen reads the first line of /proc/stat, which is the sum of all CPUs.
func stolen(text []byte) time.Duration {
	const steal = 8 // fields of proc(5): cpu user nice system idle iowait irq softirq steal
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if n, ok := number(line, steal); ok && bytes.HasPrefix(line, []byte("cpu ")) {
		return time.Duration(n) * ticks
	}
	return 0
}

// Resident returns the memory that this process has, in bytes.
func (m *Meter) Resident() int64 {
	pages, _ := number(m.file.read("/proc/self/statm"), 1)
	return pages * int64(os.Getpagesize())
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
