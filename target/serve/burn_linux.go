package serve

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// burn uses up work of this thread's CPU time: time during which the thread was
// not running does not count, as it would not for real work. It stops early when over becomes true,
// and stands still while b is shut.
func burn(work time.Duration, over *atomic.Bool, b *barrier) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end := threadTime() + work
	for !over.Load() {
		b.pass()
		left := end - threadTime()
		if left <= 0 {
			return
		}
		spinFor(min(left, stride))
	}
}

// threadTime returns the CPU time that this thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("serve: reading the CPU time of a thread: " + err.Error())
	}
	return time.Duration(t.Nano())
}
