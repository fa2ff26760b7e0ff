package server

import (
	"math"
	"slices"
	"time"

	"knee/target/fault"
	"knee/target/protection"
)

// Inject makes f bend the conditions from now on. A change of pace reaches work
// in progress too: from now on it takes as many times as long, and while
// stalled it stands still. (Work done outside the core has the pace of its start, and
// goes on during a stall.) A worker lost while busy finishes its request first.
func (c *Core) Inject(now time.Duration, f fault.Fault) {
	c.advance(now, false)
	c.faults = append(c.faults, f)
	if t, ok := f.(fault.Treater); ok {
		c.treaters = append(c.treaters, t)
	}
	c.bend()
	c.dispatch(c.now)
}

// Lift ends what Inject of the same fault began.
func (c *Core) Lift(now time.Duration, f fault.Fault) {
	c.advance(now, false)
	if i := slices.Index(c.faults, f); i >= 0 {
		c.faults = slices.Delete(c.faults, i, i+1)
	}
	if t, ok := f.(fault.Treater); ok {
		if i := slices.Index(c.treaters, t); i >= 0 {
			c.treaters = slices.Delete(c.treaters, i, i+1)
		}
		c.release(c.now, f)
	}
	c.bend()
	c.dispatch(c.now)
}

// bend finds the conditions of now: those of a healthy server, bent by each
// fault in the order of injection.
func (c *Core) bend() {
	cond := fault.Conditions{WorkFactor: 1, Workers: c.spec.Workers, RejectCost: c.spec.RejectCost}
	c.faultNext = protection.Never
	for _, f := range c.faults {
		next := f.Bend(c.now, &cond)
		c.faultNext = min(c.faultNext, max(next, c.now+1))
	}
	cond.Workers = max(cond.Workers, 0)
	if !(cond.WorkFactor > 0) || math.IsInf(cond.WorkFactor, 1) {
		cond.WorkFactor = 1
	}
	cond.RejectCost = min(max(cond.RejectCost, 0), 1)
	cond.Stalled = cond.Stalled || cond.Paused || cond.Down
	was := c.conditions
	c.conditions = cond
	if c.crowded = cond.Contention != 0 || cond.Coherence != 0; c.crowded {
		c.crowd(c.now)
	} else {
		c.pace.set(c.now, cond)
		c.foresee()
	}
	c.costRate = c.throughput.rate(cond.Workers)
	if cond.RejectCost != was.RejectCost {
		c.debt.each = newDebt(c.spec, cond.RejectCost).each
	}
	if cond.Crashes > was.Crashes {
		c.crash()
	}
	c.halted = c.halted || cond.Paused
}

// crash loses everything inside, and what the protections have learned. That
// plug-ins can be built is known since New.
func (c *Core) crash() {
	c.empty(c.lose)
	if plug, err := build(c.spec); err == nil {
		c.begin(plug)
	}
}

// lose ends r, which is in no list any more, because of a crash.
func (c *Core) lose(r *protection.Request) {
	c.leave(c.now, r, protection.End{Outcome: protection.Dropped, Reason: ReasonCrash, Waited: c.now - r.Arrived})
	c.sever(r, ReasonCrash)
}

// sever lets r's caller find that nobody is there.
func (c *Core) sever(r *protection.Request, why protection.Reason) {
	c.failed++
	c.failedBy.add(why)
	c.tell(Sever, c.now, r, why)
}

// Paused reports whether arrivals have to wait outside. Admit must not be called
// then; Arrive keeps them itself.
func (c *Core) Paused() bool { return c.conditions.Paused }

// Stalled reports whether no work may make progress, wherever it is done.
func (c *Core) Stalled() bool { return c.conditions.Stalled }

// letIn takes in what came during a pause, in the order in which it came.
func (c *Core) letIn() {
	came := c.outside
	c.outside = nil
	for _, r := range came {
		if c.admit(c.now, r) == "" {
			c.enqueue(c.now, r)
		}
		c.dispatch(c.now)
	}
}
