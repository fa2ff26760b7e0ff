package server

import (
	"time"

	"knee/target/fault"
	"knee/target/protection"
)

// stuck is work that a fault holds up: the worker does nothing else meanwhile.
type stuck struct {
	by   fault.Fault
	r    *protection.Request // with those after it in its batch
	work time.Duration
}

// treat has the faults that touch single requests touch r, which takes so much
// work otherwise.
func (c *Core) treat(now time.Duration, r *protection.Request, work time.Duration) (time.Duration, fault.Fault) {
	t := &c.treatment // what a fault is handed would be allocated otherwise
	*t = fault.Treatment{Work: work}
	var holder fault.Fault
	for _, f := range c.treaters {
		f.Treat(now, r, t)
		if t.Stuck && holder == nil {
			holder = f
		}
	}
	r.Links.Fails = t.Fail
	return max(t.Work, 0), holder
}

// release begins the work that f held up.
func (c *Core) release(now time.Duration, f fault.Fault) {
	kept := c.stuck[:0]
	for _, s := range c.stuck {
		if s.by == f {
			c.proceed(now, s.r, s.work)
		} else {
			kept = append(kept, s)
		}
	}
	clear(c.stuck[len(kept):])
	c.stuck = kept
}

// crowd sets the pace for as many workers as are busy: the universal scalability
// law.
func (c *Core) crowd(now time.Duration) {
	n := float64(c.busy + c.paying)
	cond := c.conditions
	if n > 1 {
		cond.WorkFactor *= 1 + cond.Contention*(n-1) + cond.Coherence*n*(n-1)
	}
	c.pace.set(now, cond)
	c.foresee()
}
