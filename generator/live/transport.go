package live

import (
	"context"
	"time"
)

// A transport carries requests to the server, and is where the loop waits. The
// goroutine of the loop calls everything but wake and traffic, which any may.
type transport interface {
	// begin prepares for waiting, on the calling goroutine, during a Run of at most
	// peak arrivals per second; rest ends that.
	begin(peak float64)
	rest()
	// send starts c and returns at once. The transport has c until over returns it.
	send(c *call)
	// cancel hangs up on c, which was sent; the transport still gives it back.
	cancel(c *call)
	// wait carries on what was sent until the given instant, and returns earlier
	// when calls are over or wake was called.
	wait(until time.Duration)
	// wake makes the wait that is going on, or else the next one, return.
	wake()
	// over returns the calls that are over since the last time: the answer is
	// complete, or will not come. It may use spare, whose contents nobody needs.
	over(spare []*call) []*call
	// warm opens n connections for later use.
	warm(ctx context.Context, n int) error
	// traffic returns what went over the connections so far.
	traffic() Traffic
	// close hangs up on everything and waits until it is gone.
	close()
}
