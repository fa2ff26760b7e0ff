package live

import "context"

// A transport carries requests to the server.
type transport interface {
	// send starts c, sets its cancel and returns at once. The transport posts c to
	// the inbox when the answer is complete or will not come, also after a cancel.
	send(c *call)
	// warm opens n connections for later use.
	warm(ctx context.Context, n int) error
	// traffic returns what went over the connections so far.
	traffic() Traffic
	// close hangs up on everything and waits until it is gone.
	close()
}
