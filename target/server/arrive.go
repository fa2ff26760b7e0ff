package server

import (
	"time"

	"knee/target/protection"
)

// Arrive lets time pass until now and takes in r, which is outside: it is
// refused, waits or starts.
func (c *Core) Arrive(now time.Duration, r *protection.Request) {
	c.advance(now, true)
	if c.conditions.Paused {
		r.Arrived = min(r.Arrived, c.now)
		c.outside = append(c.outside, r)
		return
	}
	if c.admit(c.now, r) == "" {
		c.enqueue(c.now, r)
	}
	c.dispatch(c.now)
}

// Admit is the first half of Arrive, for a shell that asks the protections
// before it has read the whole request. A request that is let in ("") is held
// by the shell, which calls Enqueue or Release in the end. A refusal is an
// effect too, as with Arrive.
func (c *Core) Admit(now time.Duration, r *protection.Request) protection.Reason {
	c.advance(now, true)
	reason := c.admit(c.now, r)
	if reason == "" {
		r.Links.State = held
		c.held.add(r)
		c.nHeld++
	}
	c.dispatch(c.now)
	return reason
}

// Enqueue is the second half of Arrive. It ignores a request that is not held,
// such as one that a Reset has refused.
func (c *Core) Enqueue(now time.Duration, r *protection.Request) {
	c.advance(now, true)
	if r.Links.State != held {
		return
	}
	c.letGo(r)
	c.enqueue(c.now, r)
	c.dispatch(c.now)
}

// Release takes out r, which is held or waits, because its caller has gone or
// its request was malformed, and reports whether it did: a request that a
// worker has taken goes on. The shell answers the caller, if there is one; it
// counts as dropped for the reason given, and costs no rejection.
func (c *Core) Release(now time.Duration, r *protection.Request, reason protection.Reason) bool {
	c.advance(now, true)
	switch r.Links.State {
	case held:
		c.letGo(r)
	case waiting:
		c.takeOut(r)
		c.plug.order.Remove(r)
	default:
		return false
	}
	c.dropped.add(reason)
	c.leave(c.now, r, protection.End{Outcome: protection.Dropped, Reason: reason, Waited: c.now - r.Arrived})
	return true
}

// letGo ends the shell's hold on r.
func (c *Core) letGo(r *protection.Request) {
	c.held.remove(r)
	c.nHeld--
}

// admit asks the chain whether r may enter and refuses it if not.
func (c *Core) admit(now time.Duration, r *protection.Request) protection.Reason {
	c.arrived++
	if c.conditions.Down {
		c.sever(r, ReasonDown)
		return ReasonDown
	}
	r.Arrived = min(r.Arrived, now)
	r.Expires, r.ExpiresBy = protection.Never, ""
	r.Degraded, r.Started, r.InFlight = false, 0, 0
	r.Links = protection.Links{}

	var l protection.Load
	c.load(now, &l)
	var out pushOut
	for i := range c.plug.chain {
		reason := c.plug.chain[i].Admit(now, r, l)
		if reason == "" || c.plug.evictor != nil && c.makeRoom(now, r, i, reason, &l, &out) {
			continue
		}
		for _, let := range c.plug.chain[:i] {
			let.Leave(now, r, protection.End{Outcome: protection.Dropped, Reason: reason, Waited: now - r.Arrived})
		}
		c.refused.add(reason)
		c.debt.add()
		c.tell(Refuse, now, r, reason)
		return reason
	}
	if out.victim != nil {
		c.takeOut(out.victim)
		c.plug.order.Remove(out.victim)
		c.drop(now, out.victim, out.reason)
	}
	r.InFlight = c.nWaiting + c.nHeld + c.running + 1
	return ""
}

// pushOut is a waiting request that is to make room for an arriving one, once
// the whole chain has let that in.
type pushOut struct {
	asked  bool
	victim *protection.Request
	reason protection.Reason
}

// makeRoom reports whether link i, which refused r, lets it in when the order,
// an evictor, gives up a waiting request for it. Then l becomes the load without that one.
// The order is asked once for each arrival.
func (c *Core) makeRoom(now time.Duration, r *protection.Request, i int, reason protection.Reason, l *protection.Load, out *pushOut) bool {
	if !c.plug.chain[i].bounds || out.asked {
		return false
	}
	out.asked = true
	victim := c.plug.evictor.Evict(now, r)
	if victim == nil {
		return false
	}
	without := *l
	without.Waiting--
	without.Admitted--
	without.QueuedCost -= victim.Cost
	if victim == c.waiting.oldest {
		without.Oldest = protection.Never
		if victim.Links.Newer != nil {
			without.Oldest = victim.Links.Newer.Arrived
		}
	}
	if without.Waiting == 0 {
		without.QueuedCost, without.LastEmpty = 0, now
	}
	if c.plug.chain[i].Admit(now, r, without) != "" {
		return false
	}
	*l, out.victim, out.reason = without, victim, reason
	return true
}

// enqueue puts r, which was let in, into the queue.
func (c *Core) enqueue(now time.Duration, r *protection.Request) {
	if now >= r.Expires {
		c.drop(now, r, r.ExpiresBy)
		return
	}
	if c.nWaiting == 0 {
		c.lastEmpty = now
	}
	r.Links.State = waiting
	c.waiting.add(r)
	c.nWaiting++
	c.peak = max(c.peak, c.nWaiting)
	c.queuedCost += r.Cost
	if c.plug.sweeps {
		c.expiries.add(r)
	}
	c.plug.order.Push(now, r)
}
