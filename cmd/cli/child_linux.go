package cli

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// childAttributes gives the child a process group of its own, so that ctrl-C in
// the terminal reaches it only through its parent, and has it killed when the
// thread that started it ends; see (*child).run.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ticksPerSecond is the unit of /proc/PID/stat, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// processCPU returns the user and system time of a process that runs, to 10 ms.
func processCPU(pid int) (used time.Duration, known bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The second field is the program's name in parentheses and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const userTime, systemTime = 14 - 3, 15 - 3 // numbered from 1 by proc(5); the first left is 3
	if len(fields) <= systemTime {
		return 0, false
	}
	for _, i := range []int{userTime, systemTime} {
		ticks, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, false
		}
		used += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	return used, true
}
