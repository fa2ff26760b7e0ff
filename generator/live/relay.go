package live

import (
	"runtime"
	"time"
)

// A relay is the loop's side of a transport whose exchanges run on goroutines of
// their own: they post the calls that are over, and the loop sleeps until the
// post comes or its time does.
type relay struct {
	inbox  *inbox
	now    func() time.Duration
	coarse bool // see Options.Coarse
	fine   bool // this Run sleeps in the kernel
	pacer  pacer
}

func newRelay(coarse bool, now func() time.Duration) relay {
	return relay{inbox: newInbox(), now: now, coarse: coarse}
}

// fineRate is the rate, in arrivals per second, above which the loop of a relay
// waits with timers alone. Each sleep in the kernel costs two changes of thread: at
// 10,000/s more than sending the request does, on a machine that has to run a
// server as well, while timers of a busy program are hardly less punctual.
const fineRate = 4000

func (r *relay) begin(peak float64) {
	if r.fine = !r.coarse && peak <= fineRate; r.fine {
		runtime.LockOSThread()
	}
	r.pacer = newPacer(!r.fine, r.now)
}

func (r *relay) rest() {
	r.pacer.release()
	if r.fine {
		runtime.UnlockOSThread()
	}
}

func (r *relay) wait(until time.Duration)   { r.pacer.until(until, r.inbox.ready) }
func (r *relay) wake()                      { r.inbox.ring() }
func (r *relay) post(c *call)               { r.inbox.post(c) }
func (r *relay) over(spare []*call) []*call { return r.inbox.take(spare) }
