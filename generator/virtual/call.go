package virtual

import (
	"knee/generator/client"
	"knee/target/protection"
	"knee/target/server"
)

// call is a request at the server and the attempt that waits for its answer.
type call struct {
	request protection.Request
	attempt *client.Attempt // nil when nobody waits any more
	failure Failure
	next    *call // free after this one
}

// What the live shell calls failures that the server has on purpose: an answer
// with status 500, and a connection that is closed instead of an answer.
const (
	kindError   = "status_500"
	kindSevered = "eof"
)

// outcome fills a with what the caller learns from e. Why a single server failed
// does not show; the reason of a Target is the kind that it is to be known by.
func (c *call) outcome(e *server.Effect, single bool, a *client.Answer) {
	if c.failure.Where == Answering {
		*a = c.failure.Answer
		return
	}
	a.Result, a.Reason = client.OK, string(e.Answer.Reason)
	switch e.Kind {
	case server.Refuse:
		a.Result = client.Rejected
	case server.Fail:
		a.Result = client.Failed
		if single {
			a.Reason = kindError
		}
	case server.Sever:
		a.Result = client.Failed
		if single {
			*a = client.Answer{Result: client.Failed, Reason: kindSevered} // nothing came with it
			return
		}
	}
	a.Degraded = e.Answer.Degraded
	a.RetryAfter = e.Answer.RetryAfter
	a.NoRetry = e.Answer.NoRetry
	a.Granted, a.Credits = e.Answer.Granted, e.Answer.Credits
}

// calls keeps finished calls for reuse, so that a steady load allocates nothing.
type calls struct{ free *call }

// take returns a call whose request leads back to it; all other fields hold
// whatever their last use left in them.
func (s *calls) take() *call {
	c := s.free
	if c == nil {
		c = &call{}
		c.request.Shell = c
		return c
	}
	s.free = c.next
	return c
}

// give makes c, which the server is done with, available again.
func (s *calls) give(c *call) {
	c.attempt, c.next = nil, s.free
	s.free = c
}
