package fleet

import (
	"time"

	"knee/generator/client"
	"knee/target/protection"
	"knee/target/server"
)

// A call is one attempt to have a layer do something. At most one of outer,
// from and check is set: who waits for the answer. None is set when nobody does
// any more; then the server goes on with it all the same.
type call struct {
	request protection.Request // as the server sees it
	layer   *layer
	node    *node         // the server that was picked; nil before, and when there was none
	sent    time.Duration // when its layer's balancer got it
	counted bool          // the balancer counts it as outstanding

	outer   *protection.Request // a request of a caller of the fleet
	from    *caller             // a server of the layer above, for which it is attempt
	attempt *client.Attempt
	check   *node // a health check of this server
	probe   bool  // it is or was a health check

	state  state
	timer  timer // ends some of the states
	answer answer

	fleet  *Fleet
	open   link  // in Fleet.open
	handed link  // in node.handed
	next   *call // free after this one
	pool   *pool // whose connection it uses or waits for
	behind *call // next one that waits for a connection of the pool
}

// A state says where a call is.
type state uint8

const (
	inside   state = iota // the core has it
	pooled                // it waits for a connection; the timer ends its patience
	working               // a worker that is to call the next layer does its own work first; the timer ends that
	calling               // the next layer has it
	refusing              // its refusal is on the way back; the timer ends that
)

// An answer is what a call led to.
type answer struct {
	verdict           verdict
	protection.Answer // its Reason is that of a refusal, or the kind of a failure
}

type verdict uint8

const (
	served verdict = iota
	refused
	failed
)

func refusal(why protection.Reason) answer {
	return answer{verdict: refused, Answer: protection.Answer{Reason: why}}
}

func failure(kind protection.Reason) answer {
	return answer{verdict: failed, Answer: protection.Answer{Reason: kind}}
}

// calls keeps calls that are over for reuse.
type calls struct{ free *call }

// take returns a call that nothing is known of.
func (s *calls) take(f *Fleet) *call {
	c := s.free
	if c == nil {
		c = &call{fleet: f}
		c.timer.do = c.due
		return c
	}
	s.free = c.next
	c.next = nil
	return c
}

// give makes c, which nothing refers to any more, available again.
func (s *calls) give(c *call) {
	do := c.timer.do
	*c = call{fleet: c.fleet, next: s.free}
	c.timer.do = do
	s.free = c
}

// due is called when c's timer comes.
func (c *call) due() {
	switch c.state {
	case pooled:
		c.pool.giveUp(c)
	case working:
		c.worked()
	case refusing:
		c.deliver(c.answer)
	}
}

// answered takes the answer of a server, or of the balancer in place of one, on
// its way to who waits for it.
func (c *call) answered(a answer) {
	if a.verdict == refused && c.node != nil && c.layer.RejectTime > 0 {
		c.state, c.answer = refusing, a
		c.fleet.timers.set(&c.timer, c.fleet.now+c.layer.RejectTime)
		return
	}
	c.deliver(a)
}

// deliver ends c with a.
func (c *call) deliver(a answer) {
	f, l := c.fleet, c.layer
	f.timers.stop(&c.timer)
	c.settleAccount(a.verdict)
	switch {
	case c.check != nil:
		c.check.checked(a.verdict == served)
	case c.from != nil:
		l.counts.ended(a)
		c.from.answered(c.attempt, a)
	case c.outer != nil:
		if l != nil {
			l.counts.ended(a)
		}
		f.open.remove(c)
		f.door.ended(a)
		f.tell(a.verdict.effect(), c.outer, a.Answer)
		if c.pool != nil {
			c.pool.leave()
		}
	default:
		if a.verdict == served && !c.probe {
			l.counts.unwanted++
		}
	}
	f.calls.give(c)
}

// settleAccount tells the balancer what became of a request that it has sent and
// that counts as outstanding.
func (c *call) settleAccount(v verdict) {
	if !c.counted {
		return
	}
	c.counted = false
	c.node.Outstanding--
	o := Outcome{Took: c.fleet.now - c.sent, Rejected: v == refused, Failed: v == failed}
	c.layer.balancer.Done(c.fleet.now, &c.node.Backend, o)
	c.node.noteOutcome(v == served)
}

// leave makes nobody wait for c any more.
func (c *call) leave() {
	c.settleAccount(failed)
	c.outer, c.from, c.check = nil, nil, nil
}

// effect returns how a caller of the fleet is told.
func (v verdict) effect() server.EffectKind {
	switch v {
	case refused:
		return server.Refuse
	case failed:
		return server.Fail
	}
	return server.Reply
}
