package client

import (
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// original is an original with behaviours.
type original struct {
	arrival  plan.Arrival
	deadline time.Duration
	live     []*Attempt // that are not over, in the order in which they were made
	made     int        // attempts so far, without a dormant one
	sent     int        // of those, how many were sent

	outer    levels   // behaviours outside the hedger that wait for the end of the hedged call
	branches int      // of the hedged call that are not over
	next     *Attempt // the dormant one; nil when no hedge is to come

	last    ending   // of the attempt that ended last, of those that were sent
	lastOne *Attempt // that one, while it is still listened to
	late    bool     // there was a success that came too late: lateOne
	lateOne ending
	decided bool // no attempt is to come; what is listened to has the last word
	free    *original
}

// ending is how an attempt ended.
type ending struct {
	kind       record.Kind
	reason     string
	degraded   bool
	sent, done time.Duration
}

// originals keeps originals that have ended for reuse.
type originals struct{ free *original }

func (s *originals) take() *original {
	o := s.free
	if o == nil {
		return &original{}
	}
	s.free = o.free
	*o = original{live: o.live[:0]}
	return o
}

func (s *originals) give(o *original) {
	o.free = s.free
	s.free = o
}

// begin takes an original with its first attempt.
func (c *Caller) begin(now time.Duration, arrival *plan.Arrival, deadline time.Duration) {
	o := c.spare.take()
	o.arrival, o.deadline = *arrival, deadline
	a := c.attempt(o)
	o.made++
	a.Number = o.made
	a.Planned = arrival.At
	c.pass(now, a, 0)
}

// attempt returns a new attempt of o, which no behaviour has seen.
func (c *Caller) attempt(o *original) *Attempt {
	a := c.attempts.take()
	a.Arrival, a.Deadline = o.arrival, o.deadline
	a.Number, a.Hedge, a.Sent = 0, false, never
	s := &a.state
	s.of, s.phase, s.deaf, s.cancelled, s.let, s.why = o, parked, true, false, 0, ""
	if s.marks == nil {
		s.marks = make([]Mark, len(c.chain))
	}
	clear(s.marks)
	o.live = append(o.live, a)
	return a
}

// another returns a new attempt that follows from a, as the behaviour at level
// wishes: what is outside of it takes the two for the same.
func (c *Caller) another(a *Attempt, level int) *Attempt {
	b := c.attempt(a.state.of)
	copy(b.state.marks, a.state.marks[:level+1])
	return b
}

// pass takes a through the behaviours from level on, and sends it when none
// objects.
func (c *Caller) pass(now time.Duration, a *Attempt, level int) {
	s := &a.state
	for ; level < len(c.chain); level++ {
		l := &c.chain[level]
		a.Mark = &s.marks[level]
		at, why := l.Before(now, a)
		if at <= now && why != "" {
			s.let &^= 1 << level
			c.conclude(now, a, Answer{Result: Withheld, Reason: why})
			return
		}
		s.let |= 1 << level
		if at > now {
			c.park(a, at, level+1, why)
			return
		}
		if l.hedger != nil {
			c.hedged(now, a, level)
		}
	}
	c.transmit(now, a)
}

// park has a go on at level at an instant or, when there is a reason, has it
// held until then and withheld for it.
func (c *Caller) park(a *Attempt, at time.Duration, level int, why string) {
	s := &a.state
	s.level, s.why = level, why
	if why != "" {
		s.phase, s.until = held, at
		c.alarms.set(a, min(at, a.Deadline), false)
		return
	}
	s.phase = parked
	a.Planned = at
	c.alarms.set(a, at, true)
}

// transmit sends a, which has passed all behaviours.
func (c *Caller) transmit(now time.Duration, a *Attempt) {
	o, s := a.state.of, &a.state
	a.Timeout = min(a.Planned+c.classes[a.Arrival.Class].timeout, a.Deadline)
	worthless := a.Timeout+c.grace <= now
	if a.Number > 1 {
		worthless = a.Deadline <= now
	}
	why := ""
	switch {
	case worthless, c.closing:
		why = ReasonOutOfTime
	case c.full():
		why = ReasonInFlight
	}
	if why != "" {
		c.conclude(now, a, Answer{Result: NotSent, Reason: why})
		return
	}
	a.Sent = now
	if a.Number > 1 && c.redraw != nil {
		a.Arrival.Work = c.redraw.Work(&a.Arrival, a.Number)
	}
	s.phase, s.deaf = sent, false
	o.sent++
	c.alarms.set(a, max(a.Timeout, now), false)
	c.send(a, o.sent == 1)
}

// ring handles the alarm that comes first, at now or before.
func (c *Caller) ring(now time.Duration) {
	a := c.alarms.heap[0]
	at := a.state.alarm.at
	c.alarms.stop(a)
	switch a.state.phase {
	case dormant:
		c.wake(now, at, a)
	case parked:
		c.pass(now, a, a.state.level)
	case held:
		if until := min(a.state.until, a.Deadline); until > at {
			c.alarms.set(a, until, false)
			return
		}
		c.conclude(at, a, Answer{Result: Withheld, Reason: a.state.why})
	case sent:
		c.timeOut(at, a)
	case listening:
		c.hush(at, a)
	}
}
