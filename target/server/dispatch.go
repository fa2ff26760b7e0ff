package server

import (
	"time"

	"knee/target/fault"
	"knee/target/protection"
)

// dispatch gives free workers something to do: debt first, then requests.
func (c *Core) dispatch(now time.Duration) {
	for c.busy+c.paying < c.conditions.Workers && !c.conditions.Stalled {
		if c.debt.owed > 0 {
			c.pay(now, c.debt.take(c.conditions.Workers))
			continue
		}
		if c.nWaiting == 0 {
			break
		}
		if c.spec.Batch.Size > 1 {
			if !c.startBatch(now) {
				break
			}
			continue
		}
		var l protection.Load // as in next, a call of which could be felt here
		c.load(now, &l)
		r := c.plug.order.Pop(now, l)
		if r == nil {
			break
		}
		c.takeOut(r)
		if reason := c.pick(now, r); reason != "" {
			c.drop(now, r, reason)
			continue
		}
		c.start(now, r)
	}
	if c.crowded {
		c.crowd(now)
	}
}

// takeOut ends r's waiting, apart from its place in the order.
func (c *Core) takeOut(r *protection.Request) {
	c.waiting.remove(r)
	c.expiries.remove(r)
	c.nWaiting--
	if c.queuedCost -= r.Cost; c.nWaiting == 0 {
		c.queuedCost = 0 // no rounding error outlives the queue
	}
}

// pick asks whether r, which has left the queue, is still worth starting.
func (c *Core) pick(now time.Duration, r *protection.Request) protection.Reason {
	if now >= r.Expires {
		return r.ExpiresBy
	}
	if len(c.plug.pickers) == 0 {
		return ""
	}
	var l protection.Load
	c.load(now, &l)
	for _, p := range c.plug.pickers {
		if reason := p.Pick(now, r, l); reason != "" {
			return reason
		}
	}
	return ""
}

// start gives r to a free worker.
func (c *Core) start(now time.Duration, r *protection.Request) {
	c.busy++
	work := c.take(now, r)
	if len(c.treaters) > 0 {
		var holder fault.Fault
		if work, holder = c.treat(now, r, work); holder != nil {
			c.stuck = append(c.stuck, stuck{by: holder, r: r, work: work})
			return
		}
	}
	if c.spec.External {
		c.proceed(now, r, work)
		return
	}
	c.work(now, work, r)
}

// take has a worker take r, and returns how much work r is.
func (c *Core) take(now time.Duration, r *protection.Request) (work time.Duration) {
	r.Started = now
	r.Links.State = running
	c.running++
	work = max(r.Work, 0)
	if r.Degraded {
		work = c.spec.degraded(work)
	}
	return work
}

// proceed begins the work of r, which a worker has taken.
func (c *Core) proceed(now time.Duration, r *protection.Request, work time.Duration) {
	if !c.spec.External {
		c.work(now, work, r)
		return
	}
	c.external.add(r)
	if c.crowded {
		c.crowd(now) // with this one: its pace stays that of its start
	}
	c.effects = append(c.effects, Effect{Kind: Start, R: r, At: now, Work: c.pace.stretch(work)})
}

// work has a worker begin what takes so long: r's work, or the debt when r is nil.
func (c *Core) work(now, long time.Duration, r *protection.Request) {
	c.worked = later(c.worked, long)
	c.endings.add(later(c.pace.read(now), long), r)
	c.foresee()
}

// Finish tells the core of Spec.External that r's work ended at now, and how. It
// ignores a request that does not run, such as one that a Reset has refused. Of
// a Failed one the shell tells the caller itself.
func (c *Core) Finish(now time.Duration, r *protection.Request, o protection.Outcome) {
	c.advance(now, false)
	if !c.spec.External || r.Links.State != running {
		return
	}
	c.external.remove(r)
	c.serve(c.now, r, o)
	c.free(r.Cost, c.now-r.Started)
	c.dispatch(c.now)
}

// pay has a worker begin the work that rejections have cost.
func (c *Core) pay(now, owed time.Duration) {
	c.paying++
	if !c.spec.ExternalDebt {
		c.work(now, owed, nil)
		return
	}
	if c.crowded {
		c.crowd(now)
	}
	c.effects = append(c.effects, Effect{Kind: Pay, At: now, Work: c.pace.stretch(owed), Debtor: c.emptied})
}

// Paid tells the core of Spec.ExternalDebt that the work of a Pay ended at now. It
// ignores one of before a Reset or a crash, after which nothing was owed.
func (c *Core) Paid(now time.Duration, debtor uint64) {
	c.advance(now, false)
	if !c.spec.ExternalDebt || debtor != c.emptied || c.paying == 0 {
		return
	}
	c.paying--
	c.dispatch(c.now)
}

// serve books the end of r's work and replies.
func (c *Core) serve(now time.Duration, r *protection.Request, o protection.Outcome) {
	c.running--
	if why := r.Links.Fails; why != "" {
		c.fail(now, r, why)
		return
	}
	c.leave(now, r, protection.End{Outcome: o, Waited: r.Started - r.Arrived, Served: now - r.Started})
	if o != protection.Served {
		c.failed++
		return
	}
	c.served++
	if r.Degraded {
		c.degraded++
	}
	c.tell(Reply, now, r, "")
}

// fail books that r's work was in vain and says why.
func (c *Core) fail(now time.Duration, r *protection.Request, why protection.Reason) {
	c.failed++
	c.failedBy.add(why)
	c.leave(now, r, protection.End{Outcome: protection.Failed, Reason: why, Waited: r.Started - r.Arrived, Served: now - r.Started})
	c.tell(Fail, now, r, why)
}

// drop refuses r, which was let in and has left the queue unserved.
func (c *Core) drop(now time.Duration, r *protection.Request, reason protection.Reason) {
	c.dropped.add(reason)
	c.debt.add()
	c.leave(now, r, protection.End{Outcome: protection.Dropped, Reason: reason, Waited: now - r.Arrived})
	c.tell(Refuse, now, r, reason)
}

// leave tells the whole chain how r ended.
func (c *Core) leave(now time.Duration, r *protection.Request, e protection.End) {
	r.Links.State = outside
	for i := range c.plug.chain {
		c.plug.chain[i].Leave(now, r, e)
	}
}

// tell adds the effect that answers r's caller.
func (c *Core) tell(kind EffectKind, now time.Duration, r *protection.Request, reason protection.Reason) {
	e := c.effect()
	e.Kind, e.R, e.At, e.Work = kind, r, now, 0
	a := &e.Answer
	a.Reason, a.RetryAfter, a.Credits = reason, 0, 0
	a.Granted, a.NoRetry, a.Degraded = false, false, r.Degraded && kind == Reply
	for _, s := range c.plug.stampers {
		s.Stamp(now, r, a)
	}
}

// effect returns a further effect, all of whose fields are to be set. They are
// set in place: a literal would be built first, then copied.
func (c *Core) effect() *Effect {
	n := len(c.effects)
	if n == cap(c.effects) {
		c.effects = append(c.effects, Effect{})
	} else {
		c.effects = c.effects[:n+1]
	}
	return &c.effects[n]
}
