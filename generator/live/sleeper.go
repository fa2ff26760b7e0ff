package live

import (
	"runtime"
	"time"
)

// A sleeper is how the loop waits when answers come in on other goroutines: until
// its time comes, or a token in ready says that something happened.
type sleeper struct {
	ready  chan struct{} // holds a token while something may have happened
	now    func() time.Duration
	coarse bool // see Options.Coarse
	fine   bool // this Run sleeps in the kernel
	pacer  pacer
}

func newSleeper(coarse bool, now func() time.Duration) sleeper {
	return sleeper{ready: make(chan struct{}, 1), now: now, coarse: coarse}
}

// fineRate is the rate, in arrivals per second, above which the loop waits with
// timers alone. Each sleep in the kernel costs two changes of thread: at 10,000/s
// more than sending the request does, on a machine that has to run a server as
// well, while timers of a busy program are hardly less punctual.
const fineRate = 4000

func (s *sleeper) begin(peak float64) {
	if s.fine = !s.coarse && peak <= fineRate; s.fine {
		runtime.LockOSThread()
	}
	s.pacer = newPacer(!s.fine, s.now)
}

func (s *sleeper) rest() {
	s.pacer.release()
	if s.fine {
		runtime.UnlockOSThread()
	}
}

func (s *sleeper) wait(until time.Duration) { s.pacer.until(until, s.ready) }
func (s *sleeper) wake()                    { ring(s.ready) }
