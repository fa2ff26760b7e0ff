package client

import "time"

// hedged begins a call with hedges, of which a, which has passed the hedger at
// level, is the first attempt.
func (c *Caller) hedged(now time.Duration, a *Attempt, level int) {
	o, s := a.state.of, &a.state
	o.outer, s.let = s.let.below(level), s.let&^s.let.below(level)
	o.branches = 1
	c.nextHedge(now, a, level)
}

// nextHedge asks when the attempt after a is to begin.
func (c *Caller) nextHedge(now time.Duration, a *Attempt, level int) {
	o, s := a.state.of, &a.state
	a.Mark = &s.marks[level]
	at := c.chain[level].hedger.Hedge(now, a)
	if at >= o.deadline {
		return
	}
	b := c.another(a, level)
	b.Hedge = true
	b.state.phase, b.state.level = dormant, level+1
	o.next = b
	c.alarms.set(b, max(at, now), true)
}

// wake begins a hedge, whose instant was at.
func (c *Caller) wake(now, at time.Duration, a *Attempt) {
	o, s := a.state.of, &a.state
	o.next = nil
	o.branches++
	a.Number, a.Planned = o.made+1, at
	s.phase = parked
	s.let = 1 << (s.level - 1)
	if why := c.plan(now, a, s.level); why != "" {
		c.conclude(now, a, Answer{Result: Withheld, Reason: why})
		return
	}
	o.made++
	c.nextHedge(now, a, s.level-1)
	c.pass(now, a, s.level)
}

// goesOn reports whether a call with hedges goes on when a, one of its attempts,
// has led to e. Otherwise a is what the call led to.
func (c *Caller) goesOn(now time.Duration, a *Attempt, e Answer, level int, again time.Duration) bool {
	o := a.state.of
	o.branches--
	last := e.NoRetry && again != never
	switch e.Result {
	case OK:
		again = never
	case Withheld, NotSent: // what refused this one would refuse the next
		last = true
	}
	if last {
		c.cancelNext(o)
		if o.branches > 0 {
			return true
		}
		again = never
	}
	if again != never {
		if o.next != nil {
			c.alarms.set(o.next, max(again, now), true)
		}
		if o.next != nil || o.branches > 0 {
			return true
		}
	}
	c.endHedges(now, a, level)
	a.state.let |= o.outer
	o.outer = 0
	return false
}

// cancelNext forgets the hedge that is to come.
func (c *Caller) cancelNext(o *original) {
	if o.next != nil {
		c.drop(o.next)
		o.next = nil
	}
}

// endHedges cancels what the hedger at level has begun beside a.
func (c *Caller) endHedges(now time.Duration, a *Attempt, level int) {
	o := a.state.of
	c.cancelNext(o)
	for i := len(o.live) - 1; i >= 0; i-- {
		if b := o.live[i]; b != a && b.state.let.has(level) {
			c.hangUp(b)
			c.abort(now, b, Answer{Result: Cancelled})
		}
	}
}
