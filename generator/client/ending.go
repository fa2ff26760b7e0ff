package client

import (
	"time"

	"knee/generator/record"
)

// conclude tells the behaviours, from the innermost on, what a led to, until
// one of them goes on without it. Otherwise it is what the original led to.
func (c *Caller) conclude(now time.Duration, a *Attempt, e Answer) {
	o, s := a.state.of, &a.state
	o.note(now, a, e)
	for level := len(c.chain) - 1; level >= 0; level-- {
		if !s.let.has(level) {
			continue
		}
		again := c.after(now, a, e, level)
		switch {
		case c.chain[level].hedger != nil:
			if c.goesOn(now, a, e, level, again) {
				c.done(a)
				return
			}
		case e.Result != OK && again < o.deadline:
			if c.repeat(a, level, max(again, now), now) {
				c.done(a)
				return
			}
		}
	}
	c.decide(now, a, e)
}

// after tells the behaviour at level what a led to, and lets go what it held.
func (c *Caller) after(now time.Duration, a *Attempt, e Answer, level int) (again time.Duration) {
	l, s := &c.chain[level], &a.state
	s.let &^= 1 << level
	a.Mark = &s.marks[level]
	again = l.After(now, a, e)
	if l.holder != nil {
		for freed := l.holder.Release(now); freed != nil; freed = l.holder.Release(now) {
			if c.closing || now >= freed.Deadline {
				continue // it comes too late, and is withheld for the reason for which it was held
			}
			c.park(freed, now, level+1, "")
		}
	}
	return again
}

// note keeps how a ended, if it was sent.
func (o *original) note(now time.Duration, a *Attempt, e Answer) {
	kind := record.Timeout
	switch e.Result {
	case OK:
		kind = record.Good
	case Rejected:
		kind = record.Rejected
	case Failed:
		kind = record.Failed
	case TimedOut:
	default:
		return
	}
	o.last = ending{kind: kind, reason: e.Reason, degraded: e.Degraded, sent: a.Sent, done: now}
	o.lastOne = nil
	if a.state.phase == listening {
		o.lastOne = a
	}
}

// repeat plans another attempt in place of a, by the wish of the behaviour at
// level. It reports false when one further inside refuses it.
func (c *Caller) repeat(a *Attempt, level int, at, now time.Duration) bool {
	o := a.state.of
	b := c.another(a, level)
	b.Number, b.Planned = o.made+1, at
	if why := c.plan(now, b, level+1); why != "" {
		c.abort(now, b, Answer{Result: Withheld, Reason: why})
		return false
	}
	o.made++
	b.state.let |= a.state.let | 1<<level
	a.state.let = 0
	c.park(b, at, level+1, "")
	return true
}

// plan asks the planners from level on whether a may come.
func (c *Caller) plan(now time.Duration, a *Attempt, level int) (why string) {
	s := &a.state
	for ; level < len(c.chain); level++ {
		l := &c.chain[level]
		if l.planner == nil {
			continue
		}
		a.Mark = &s.marks[level]
		why := l.planner.Plan(now, a)
		if why != "" {
			return why
		}
		s.let |= 1 << level
	}
	return ""
}

// decide ends an original, to which e was the last word of the behaviours, but
// for what is listened to.
func (c *Caller) decide(now time.Duration, a *Attempt, e Answer) {
	o := a.state.of
	switch {
	case e.Result == OK:
		c.finish(now, o, o.last)
	case o.late:
		c.finish(now, o, o.lateOne)
	case o.sent == 0:
		kind := record.Withheld
		if e.Result == NotSent {
			kind = record.Unsent
		}
		c.finish(now, o, ending{kind: kind, reason: e.Reason, done: now})
	case o.lastOne != nil:
		o.decided = true
		c.done(a)
	default:
		c.finish(now, o, o.last)
	}
}

// timeOut tells the behaviours that no answer to a came by its timeout.
func (c *Caller) timeOut(at time.Duration, a *Attempt) {
	if c.grace > 0 {
		a.state.phase = listening
		if !a.state.deaf {
			c.alarms.set(a, a.Timeout+c.grace, false)
		}
	} else {
		c.hangUp(a)
	}
	c.conclude(at, a, Answer{Result: TimedOut})
}

// answered is Answer with behaviours.
func (c *Caller) answered(now time.Duration, a *Attempt, answer Answer) []Effect {
	s, o := &a.state, a.state.of
	if s.deaf {
		panic("client: answer to an attempt that is over")
	}
	c.inFlight--
	c.alarms.stop(a)
	c.hangups, c.answering = c.hangups[:0], a
	s.deaf = true
	if answer.Result == NotSent {
		o.sent--
		c.watcher.Unattempted(a, o.sent == 0)
	} else if s.phase == sent && now > a.Timeout {
		c.timeOut(a.Timeout, a)
	}
	switch {
	case s.of == nil: // to time out was the end of it
	case s.phase == sent:
		c.conclude(now, a, answer)
	default:
		c.overhear(now, a, answer)
	}
	c.answering = nil
	c.attempts.give(a)
	return c.hangups
}

// overhear takes an answer to an attempt that has timed out.
func (c *Caller) overhear(now time.Duration, a *Attempt, answer Answer) {
	o, last := a.state.of, a.state.of.lastOne == a
	done := ending{reason: answer.Reason, sent: a.Sent, done: now}
	switch due := a.Timeout + c.grace; {
	case answer.Result != NotSent && now > due:
		c.hush(due, a)
		return
	case answer.Result == OK:
		done.kind = record.Late
		if !o.late {
			o.late, o.lateOne = true, done
		}
		if o.decided {
			c.finish(now, o, o.lateOne)
			return
		}
	case answer.Result == Rejected:
		done.kind = record.Rejected
	case answer.Result == Failed:
		done.kind = record.Failed
	case o.sent == 0:
		done.kind = record.Unsent
	default: // the others decide, and nothing better is known of them
		done.kind, done.reason = record.Timeout, ""
	}
	if last {
		o.last, o.lastOne = done, nil
		if o.decided {
			c.finish(now, o, o.last)
			return
		}
	}
	c.drop(a)
}

// hush ends the grace of a, to which no answer has come by due.
func (c *Caller) hush(due time.Duration, a *Attempt) {
	o := a.state.of
	c.hangUp(a)
	if o.lastOne == a {
		o.last.done, o.lastOne = due, nil
		if o.decided {
			c.finish(due, o, o.last)
			return
		}
	}
	c.drop(a)
}

// giveUp ends o as everything is abandoned.
func (c *Caller) giveUp(now time.Duration, o *original) {
	e := ending{kind: record.Unfinished, done: now}
	if o.late {
		e = o.lateOne
	}
	if o.sent == 0 {
		e.kind, e.reason = record.Unsent, ReasonOutOfTime
		for _, a := range o.live {
			if a.state.phase == held {
				e.kind, e.reason = record.Withheld, a.state.why
			}
		}
	}
	c.finish(now, o, e)
}

// finish ends o with e, and what is left of it.
func (c *Caller) finish(now time.Duration, o *original, e ending) {
	for len(o.live) > 0 {
		a := o.live[len(o.live)-1]
		a.state.let |= o.outer
		o.outer = 0
		c.hangUp(a)
		c.abort(now, a, Answer{Result: Cancelled})
	}
	c.ending = record.Ending{Kind: e.kind, Reason: e.reason, Degraded: e.degraded, Sent: e.sent, Done: e.done}
	c.end(&o.arrival)
	c.spare.give(o)
}

// abort tells those that let a pass that it is given up, and drops it.
func (c *Caller) abort(now time.Duration, a *Attempt, e Answer) {
	for level := len(c.chain) - 1; level >= 0; level-- {
		if a.state.let.has(level) {
			c.after(now, a, e, level)
		}
	}
	c.drop(a)
}

// hangUp has the shell stop listening for a, if it does.
func (c *Caller) hangUp(a *Attempt) {
	if a.state.deaf {
		return
	}
	a.state.deaf, a.state.cancelled = true, true
	c.inFlight--
	if c.answering != nil {
		c.hangups = append(c.hangups, Effect{Kind: Cancel, Attempt: a})
		c.gone = append(c.gone, a)
	} else {
		c.effects = append(c.effects, Effect{Kind: Cancel, Attempt: a})
	}
}

// done is the end of a as far as behaviours are concerned; it may still be
// listened to.
func (c *Caller) done(a *Attempt) {
	if a.state.phase != listening {
		c.drop(a)
	}
}

// drop takes a, which is over, out of its original.
func (c *Caller) drop(a *Attempt) {
	c.alarms.stop(a)
	o := a.state.of
	i := len(o.live) - 1
	for o.live[i] != a {
		i--
	}
	o.live = append(o.live[:i], o.live[i+1:]...)
	a.state.of = nil
	if !a.state.cancelled && a != c.answering {
		c.attempts.give(a)
	}
}
