package serve

import (
	"sync/atomic"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// A call is one request on its way through the server. It is reused; the
// goroutine that took it owns it until it gives it back.
type call struct {
	req      protection.Request
	facts    facts
	stranger bool          // asked for entry before anything of it was read, and not identified since
	held     bool          // let in and not yet enqueued
	entered  chan struct{} // one: it waited outside, and the core has decided
	signals  chan signal
	over     atomic.Bool // its last signal was sent: work that still burns may stop
}

// A signal tells the goroutine of a call what the core decided.
type signal struct {
	kind   server.EffectKind
	work   time.Duration // of Start
	answer protection.Answer
}

// newCall returns a call whose channel holds all signals that one request can
// get, a Start and an end, so that the core never waits for a caller.
func newCall() *call {
	c := &call{signals: make(chan signal, 2), entered: make(chan struct{}, 1)}
	c.req.Shell = c
	return c
}

func (s *Server) take() *call { return s.calls.Get().(*call) }

// give takes back a call that got its last signal, or needs none.
func (s *Server) give(c *call) {
	c.req = protection.Request{Shell: c}
	c.facts, c.stranger, c.held = facts{}, false, false
	c.over.Store(false)
	s.calls.Put(c)
}
