package main

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// startOn starts a process on one CPU; a negative one leaves it to the system.
// What a process inherits is the affinity of the thread that starts it.
func startOn(cpu int, cmd *exec.Cmd) error {
	if cpu < 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return os.NewSyscallError("sched_setaffinity to CPU "+strconv.Itoa(cpu), err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	return cmd.Start()
}

// stayOn moves this process to one CPU, as far as it can.
func stayOn(cpu int) {
	if cpu < 0 {
		return
	}
	var only unix.CPUSet
	only.Set(cpu)
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetaffinity(id, &only)
		}
	}
}
