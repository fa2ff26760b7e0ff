package server

import (
	"time"

	"knee/target/protection"
)

// advance carries out what is due until now, each thing at its own instant.
// Without wakes it leaves out what comes after the endings of work at now.
func (c *Core) advance(now time.Duration, wakes bool) {
	now = min(max(now, c.now), protection.Never-1)
	for {
		if c.halted {
			if !c.standStill(now, wakes) {
				return
			}
			continue
		}
		wake := c.nextWake()
		switch {
		case c.endingNext <= now && c.endingNext <= wake:
			c.end(c.endingNext)
		case wake < now || wake == now && wakes:
			c.wake(wake)
		default:
			c.now = now
			return
		}
	}
}

// foresee finds the instant at which the first work that the core ends is done.
// It is called when that work or the pace changes, which is less often than the
// instant is asked for.
func (c *Core) foresee() {
	c.endingNext = protection.Never
	if !c.endings.empty() {
		c.endingNext = max(c.now, c.pace.when(c.endings.first())) // a slow clock of work is not read to the nanosecond
	}
}

// nextWake returns the next instant at which a fault, an expiry, a tick or a
// batch is due.
func (c *Core) nextWake() time.Duration {
	return min(c.faultNext, c.expiries.next(), c.plug.tickNext)
}

// wake does one of the things due at now: faults first, then expiries, then ticks.
func (c *Core) wake(now time.Duration) {
	c.now = now
	switch {
	case c.faultNext <= now:
		c.bend()
	case c.expiries.next() <= now:
		r := c.expiries.first()
		c.takeOut(r)
		c.plug.order.Remove(r)
		c.drop(now, r, r.ExpiresBy)
	default:
		c.tick()
	}
	c.dispatch(now)
}

// tick calls each protection whose instant has come. An instant that is not
// after now would come for ever, so it is taken as the next one. A batch that
// has waited long enough is the dispatcher's.
func (c *Core) tick() {
	var l protection.Load
	c.load(c.now, &l)
	if c.batchNext <= c.now {
		c.batchNext = protection.Never
	}
	c.plug.tickNext = c.batchNext
	for i := range c.plug.tickers {
		t := &c.plug.tickers[i]
		if t.next <= c.now {
			t.next = max(t.Tick(c.now, l), c.now+1)
		}
		c.plug.tickNext = min(c.plug.tickNext, t.next)
	}
}

// end ends the first work that is done, at the instant at which it is.
func (c *Core) end(now time.Duration) {
	c.now = now
	e := c.endings.pop()
	c.foresee()
	if e.r == nil {
		c.paying--
	} else {
		c.finish(now, e.r)
	}
	c.dispatch(now)
}

// finish ends the work of one worker: that of r and, in a batch, of those after it.
func (c *Core) finish(now time.Duration, r *protection.Request) {
	took, cost := now-r.Started, 0.0
	for r != nil {
		next := r.Links.Next
		r.Links.Next = nil
		cost += r.Cost
		c.serve(now, r, protection.Served)
		r = next
	}
	c.free(cost, took)
}

// free ends the work of a worker, which got through so much cost in that time.
func (c *Core) free(cost float64, took time.Duration) {
	c.busy--
	c.throughput.add(cost, took)
	c.costRate = c.throughput.rate(c.conditions.Workers)
}
