package live

import (
	"time"

	"knee/generator/client"
	"knee/generator/plan"
)

// A call is one attempt on its way. The loop fills the first block before it
// hands the call to the transport, the transport the second one before it gives
// the call back.
type call struct {
	arrival plan.Arrival
	request int           // index of the Request in Options.Requests
	number  int           // of the attempt, from 1
	left    time.Duration // what is left of the attempt's time as it is sent

	done   time.Duration // instant at which the answer was complete
	answer client.Answer

	carrier any   // the transport's own: what carries the call
	before  *call // in the callQueue of the transport
	after   *call
	attempt *client.Attempt // the loop's own: nil when nobody waits any more
	next    *call           // free after this one
}

// calls keeps calls that are over for reuse.
type calls struct{ free *call }

func (s *calls) take() *call {
	c := s.free
	if c == nil {
		return &call{}
	}
	s.free, c.next = c.next, nil
	return c
}

func (s *calls) give(c *call) {
	*c = call{next: s.free}
	s.free = c
}
