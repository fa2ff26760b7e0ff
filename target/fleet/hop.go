package fleet

import (
	"errors"
	"fmt"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// A Hop says how the servers of a layer call the next one.
type Hop struct {
	MaxAttempts int           `yaml:"max_attempts" doc:"attempts for each request, the first included, 1 to 100; default 1"`
	Timeout     time.Duration `yaml:"timeout,omitempty" doc:"how long an attempt is waited for; default 0: as long as the deadline leaves, if it is known"`
	Backoff     time.Duration `yaml:"backoff,omitempty" doc:"how long to wait before the next attempt; default 0"`
	Async       bool          `yaml:"async,omitempty" doc:"a worker is free again while the next layer works; default false: it waits with the request"`
	Ignore      bool          `yaml:"ignore_no_retry,omitempty" doc:"try again after an answer that says not to; default false"`
	SayNoRetry  bool          `yaml:"say_no_retry,omitempty" doc:"tell the caller not to try again when all attempts have failed; default false"`

	// What does not go along with a request: its deadline, so that the next layer
	// works for callers who have left, and this one goes on trying for them; and
	// how critical it is, so that everything arrives as critical.
	DropDeadline    bool `yaml:"-"`
	DropCriticality bool `yaml:"-"`
}

// Check returns a *plugin.KnobError for each field out of range, joined.
func (h *Hop) Check() error {
	var errs []error
	if h.MaxAttempts < 1 || h.MaxAttempts > MaxAttempts {
		errs = append(errs, plugin.Knob("max_attempts", h.MaxAttempts, fmt.Sprintf("a number from 1 to %d", MaxAttempts)))
	}
	if h.Timeout < 0 {
		errs = append(errs, plugin.Knob("timeout", h.Timeout, "a duration of at least 0"))
	}
	if h.Backoff < 0 {
		errs = append(errs, plugin.Knob("backoff", h.Backoff, "a duration of at least 0"))
	}
	return errors.Join(errs...)
}

// MaxAttempts bounds the attempts of a Hop.
const MaxAttempts = 100

// worked is called when a worker that is to wait for the next layer has done its
// own part of c.
func (c *call) worked() {
	n := c.node
	if c.probe { // it asks for this server and not for those behind it
		c.state = inside
		n.core.Finish(c.fleet.now, &c.request, protection.Served)
		n.touched()
		return
	}
	n.holding++
	n.touched()
	c.try()
}

// try makes the next attempt at the layer below, unless nothing is left of the
// deadline that is known here.
func (c *call) try() {
	f, hop := c.fleet, &c.layer.Hop
	deadline := protection.Never
	if !hop.DropDeadline {
		deadline = c.request.Deadline
	}
	if f.now >= deadline {
		c.giveUp(failure(KindDeadline))
		return
	}
	ends := deadline
	if hop.Timeout > 0 {
		ends = min(ends, f.now+hop.Timeout)
	}
	l := c.layer.next
	b := f.calls.take(f)
	b.above, c.below = c, b
	c.tries++
	b.request = protection.Request{
		Client: c.request.Client, Class: c.request.Class, Criticality: protection.Critical, Tenant: c.request.Tenant,
		Cost: c.request.Cost, Bytes: c.request.Bytes, Attempt: c.tries, Protected: c.request.Protected,
		Work: l.Work(l.rand), Deadline: protection.Never, Shell: b,
	}
	if !hop.DropDeadline {
		b.request.Deadline = ends
	}
	if !hop.DropCriticality {
		b.request.Criticality = c.request.Criticality
	}
	c.state = calling
	f.timers.set(&c.timer, ends)
	l.offer(b)
}

// resume goes on with c, whose attempt at the layer below led to a.
func (c *call) resume(a answer) {
	c.below = nil
	c.fleet.timers.stop(&c.timer)
	hop := &c.layer.Hop
	switch {
	case a.verdict == served:
		c.finish(a)
	case c.tries >= hop.MaxAttempts, a.NoRetry && !hop.Ignore:
		c.giveUp(a)
	case hop.Backoff > 0:
		c.state = pausing
		c.fleet.timers.set(&c.timer, c.fleet.now+hop.Backoff)
	default:
		c.try()
	}
}

// timedOut gives up the attempt at the layer below. What became of it is not
// known, so nobody can have said not to try again.
func (c *call) timedOut() {
	c.layer.next.counts.gaveUp++
	c.below.leave()
	c.resume(failure(KindTimeout))
}

// giveUp ends c, all of whose attempts have failed, with what the last one led to.
func (c *call) giveUp(a answer) {
	a.NoRetry = c.layer.Hop.SayNoRetry
	c.finish(a)
}

// finish ends c, whose own work and whose attempts at the layer below are over.
func (c *call) finish(a answer) {
	n := c.node
	c.state, c.answer = inside, a
	if c.layer.Hop.Async {
		n.handed.remove(c)
		c.deliver(a)
		return
	}
	n.holding--
	outcome := protection.Served
	if a.verdict != served {
		outcome = protection.Failed
	}
	n.core.Finish(c.fleet.now, &c.request, outcome)
	n.touched()
	if outcome == protection.Failed {
		c.deliver(a) // of a failure the shell tells the caller itself
	}
}

// abandon stops whatever c waits for: its server has lost it.
func (c *call) abandon() {
	c.fleet.timers.stop(&c.timer)
	if c.below != nil {
		c.layer.next.counts.gaveUp++
		c.below.leave()
		c.below = nil
	}
	if (c.state == calling || c.state == pausing) && !c.layer.Hop.Async {
		c.node.holding--
	}
	c.state = inside
}
