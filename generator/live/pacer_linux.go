package live

import (
	"time"

	"golang.org/x/sys/unix"
)

// margin is how long before an instant a kernelPacer stops to rely on the
// runtime's timers, which come up to a millisecond late.
const margin = 1500 * time.Microsecond

// A kernelPacer sleeps the last stretch before an instant in the kernel, on the
// thread that the loop is locked to. Nothing wakes it during that stretch:
// answers wait for at most margin until the loop sees them, with their stamps
// already taken.
type kernelPacer struct{ *timerPacer }

func newPacer(coarse bool, now func() time.Duration) pacer {
	timer := newTimerPacer(now)
	if coarse {
		return timer
	}
	// One nanosecond instead of the usual 50 µs by which the kernel may be late. A
	// kernel that refuses is merely less punctual.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return kernelPacer{timer}
}

func (p kernelPacer) until(at time.Duration, wake <-chan struct{}) {
	if left := at - p.now(); left > margin && !p.sleep(left-margin, wake) {
		return
	}
	if left := at - p.now(); left > 0 {
		ts := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&ts, nil) // woken early by a signal, the loop comes back
	}
}

func (p kernelPacer) release() {
	p.timerPacer.release()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0: back to the thread's default
}
