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
	c.bend()
	c.dispatch(c.now)
}

// Lift ends what Inject of the same fault began.
func (c *Core) Lift(now time.Duration, f fault.Fault) {
	c.advance(now, false)
	if i := slices.Index(c.faults, f); i >= 0 {
		c.faults = slices.Delete(c.faults, i, i+1)
	}
	c.bend()
	c.dispatch(c.now)
}

// bend finds the conditions of now: those of a healthy server, bent by each
// fault in the order of injection.
func (c *Core) bend() {
	cond := fault.Conditions{WorkFactor: 1, Workers: c.spec.Workers}
	c.faultNext = protection.Never
	for _, f := range c.faults {
		next := f.Bend(c.now, &cond)
		c.faultNext = min(c.faultNext, max(next, c.now+1))
	}
	cond.Workers = max(cond.Workers, 0)
	if !(cond.WorkFactor > 0) || math.IsInf(cond.WorkFactor, 1) {
		cond.WorkFactor = 1
	}
	c.conditions = cond
	c.pace.set(c.now, cond)
	c.foresee()
	c.costRate = c.throughput.rate(cond.Workers)
}
