package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Allowed returns the CPUs on which the thread that calls may run: those of the
// process, unless the caller is locked to a thread that was bound apart.
func Allowed() (CPUs, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var c CPUs
	for cpu := range len(set) * strconv.IntSize {
		if set.IsSet(cpu) {
			c = append(c, cpu)
		}
	}
	return c, nil
}

// BindThread lets the thread that calls, and those and the processes that it
// starts from then on, run on c alone. The caller is locked to its thread.
func BindThread(c CPUs) error { return bind(0, c) }

func bind(thread int, c CPUs) error {
	var set unix.CPUSet
	for _, cpu := range c {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(thread, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to CPUs %v: %w", c, err)
	}
	return nil
}

// Bind lets all threads of this process run on c alone, those of BindThread
// included. It is best called while there are few.
func Bind(c CPUs) error {
	done := map[int]bool{}
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		// A thread that was started meanwhile by one that was not bound yet shows up
		// the next time.
		before := len(done)
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || done[id] {
				continue
			}
			done[id] = true
			if err := bind(id, c); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if len(done) == before {
			return nil
		}
	}
}

// Cores returns the CPUs of c, those that share a core together.
func Cores(c CPUs) []CPUs {
	var cores []CPUs
	place := map[string]int{}
	for _, cpu := range c {
		text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		siblings, perr := parseCPUs(string(text))
		if err != nil || perr != nil {
			siblings = CPUs{cpu}
		}
		key := siblings.String()
		i, known := place[key]
		if !known {
			i = len(cores)
			place[key] = i
			cores = append(cores, nil)
		}
		cores[i] = append(cores[i], cpu)
	}
	return cores
}
