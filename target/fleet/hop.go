package fleet

import (
	"errors"
	"fmt"
	"time"

	"knee/generator/client"
	"knee/target/plugin"
	"knee/target/protection"
)

// A Hop says how the servers of a layer call the next one.
type Hop struct {
	Timeout    time.Duration `yaml:"timeout,omitempty" doc:"how long an attempt is waited for, up to 24h; default 0: as long as the deadline leaves, if it is known"`
	Async      bool          `yaml:"async,omitempty" doc:"a worker is free again while the next layer works; default false: it waits with the request"`
	SayNoRetry bool          `yaml:"say_no_retry,omitempty" doc:"tell the caller not to try again when the request failed after all attempts; default false"`

	// Behaviours returns what the server of a number does with its attempts, the
	// outermost first. Nil: one attempt.
	Behaviours func(server int) ([]client.Behaviour, error) `yaml:"-"`
	// What does not go along with a request: its deadline, so that the next layer
	// works for callers who have left, and this one goes on trying for them; and
	// how critical it is, so that everything arrives as critical.
	DropDeadline    bool `yaml:"-"`
	DropCriticality bool `yaml:"-"`
}

// Check returns a *plugin.KnobError for each field out of range, joined.
func (h *Hop) Check() error {
	var errs []error
	if h.Timeout < 0 || h.Timeout > patient {
		errs = append(errs, plugin.Knob("timeout", h.Timeout, fmt.Sprintf("a duration from 0 to %v", patient)))
	}
	return errors.Join(errs...)
}

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
	c.handOn()
}

// handOn has the next layer do its part of c, unless nothing is left of the
// deadline that is known here.
func (c *call) handOn() {
	c.state = calling
	deadline := protection.Never
	if !c.layer.Hop.DropDeadline {
		deadline = c.request.Deadline
	}
	if c.fleet.now >= deadline {
		a := failure(KindDeadline)
		a.NoRetry = c.layer.Hop.SayNoRetry
		c.finish(a)
		return
	}
	c.node.caller.ask(c, deadline)
}

// finish ends c, of which the server and the next layer have done their parts,
// or failed to.
func (c *call) finish(a answer) {
	n := c.node
	c.state, c.answer = inside, a
	if c.layer.Hop.Async {
		n.handed.remove(c)
		c.deliver(a)
		return
	}
	n.holding--
	if a.verdict == served {
		n.core.Finish(c.fleet.now, &c.request, protection.Served)
		n.touched()
		return
	}
	fault := c.request.Links.Fails != "" // then the core tells of the failure itself
	n.core.Finish(c.fleet.now, &c.request, protection.Failed)
	n.touched()
	if !fault {
		c.deliver(a)
	}
}
