package client

import (
	"fmt"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
)

// Reasons of originals that the population itself could not send.
const (
	ReasonInFlight  = "in_flight"   // MaxInFlight attempts were outstanding
	ReasonOutOfTime = "out_of_time" // the shell came so late that nobody would have waited for the answer
)

// A Population turns the arrivals of plans into attempts and attempts into
// endings, each of which it books with its recorder.
//
// An attempt is waited for until its timeout plus the grace, or its timeout
// alone when the population hangs up. A success at or before the timeout and
// the deadline is good, a later one late. An answer at the very instant at
// which the wait ends still counts. When none has come by then the attempt is
// cancelled and the original ends as Timeout, at that instant, however late the
// shell was to say so.
//
// A Population is used by one goroutine. Instants given to it must not decrease.
type Population struct {
	classes  []class
	most     int // attempts outstanding at once
	recorder *record.Recorder

	offer    offer
	timers   timers
	attempts attempts
	effects  []Effect      // of the last Advance or Abandon
	ending   record.Ending // the last one; filled in place, as copying it would cost as much as the rest of an answer

	open     int
	inFlight int
}

// class is what the population needs to know of a class.
type class struct {
	timeout  time.Duration
	deadline time.Duration
	queue    *waiting
}

// longest bounds timeouts, deadlines and the grace, so that no sum overflows.
const longest = 24 * time.Hour

// New returns a population without load. It returns an error for options
// outside their range.
func New(o Options, r *record.Recorder) (*Population, error) {
	if len(o.Classes) == 0 {
		return nil, fmt.Errorf("client: no classes: want at least one")
	}
	if o.Grace < 0 || o.Grace > longest {
		return nil, fmt.Errorf("client: grace is %v: want 0 to %v", o.Grace, longest)
	}
	if o.MaxInFlight < 0 {
		return nil, fmt.Errorf("client: max_in_flight is %d: want 0 (no bound) or more", o.MaxInFlight)
	}
	p := &Population{most: o.MaxInFlight, recorder: r}
	p.offer.next.At = protection.Never
	grace := o.Grace
	if o.Close {
		grace = 0
	}
	for _, c := range o.Classes {
		known, err := newClass(c)
		if err != nil {
			return nil, err
		}
		known.queue = p.timers.queue(known.timeout + grace)
		p.classes = append(p.classes, known)
	}
	return p, nil
}

func newClass(c plan.Class) (class, error) {
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"timeout", c.Timeout},
		{"deadline", c.Deadline},
	} {
		if f.d <= 0 || f.d > longest {
			return class{}, fmt.Errorf("client: class %q: %s is %v: want above 0, up to %v", c.Name, f.name, f.d, longest)
		}
	}
	return class{timeout: c.Timeout, deadline: c.Deadline}, nil
}

// Open returns how many originals have come and not ended.
func (p *Population) Open() int { return p.open }

// InFlight returns how many attempts are outstanding.
func (p *Population) InFlight() int { return p.inFlight }

// Next returns the next instant at which Advance has something to do; Never
// when there is none.
func (p *Population) Next() time.Duration {
	_, due := p.timers.next()
	return min(due, p.offer.next.At, p.recorder.NextTick())
}

// Advance handles what is due by now in the order of its instants; at one
// instant the recorder's tick first, then ends of waits, then the arrival. A
// shell that comes late sends at now what was due earlier, unless nobody would
// wait for the answer any more: that is unsent, out_of_time.
//
// The effects are to be carried out in their order, before the next Advance or
// Abandon, which reuses the slice and the cancelled attempts.
func (p *Population) Advance(now time.Duration) []Effect {
	p.recycle()
	p.advance(now, "")
	return p.effects
}

// Abandon ends the run at now: it cancels every attempt, and what is open ends
// as Unfinished. Arrivals that were due and not sent yet are unsent, out_of_time.
func (p *Population) Abandon(now time.Duration) []Effect {
	p.recycle()
	p.Stop(now)
	p.advance(now, ReasonOutOfTime)
	for a, _ := p.timers.next(); a != nil; a, _ = p.timers.next() {
		p.cancel(a, record.Unfinished, now)
	}
	return p.effects
}

// recycle takes back the attempts that the effects of the last call cancelled:
// the shell has let go of them by now.
func (p *Population) recycle() {
	for _, e := range p.effects {
		if e.Kind == Cancel {
			p.attempts.give(e.Attempt)
		}
	}
	p.effects = p.effects[:0]
}

// advance handles what is due by now. Arrivals are not sent when unsent says
// why not.
func (p *Population) advance(now time.Duration, unsent string) {
	for {
		tick, arrival := p.recorder.NextTick(), p.offer.next.At
		a, due := p.timers.next()
		switch at := min(tick, due, arrival); {
		case at > now || at == protection.Never:
			return
		case at == tick:
			p.recorder.Tick(at)
		case at == due:
			p.cancel(a, record.Timeout, due)
		default:
			p.arrive(now, unsent)
		}
	}
}

// arrive takes the next arrival of the plan and sends it at now, unless unsent
// says why not. An arrival that is not sent ends at its own instant.
func (p *Population) arrive(now time.Duration, unsent string) {
	o := &p.offer
	p.begin(o.next.Step - o.base + 1)
	at, kind := o.next.At, &p.classes[o.next.Class]
	p.recorder.Planned(o.next.Step, o.next.Class, at)
	p.open++

	due := at + kind.queue.patience
	switch {
	case unsent != "":
	case due <= now:
		unsent = ReasonOutOfTime
	case p.most > 0 && p.inFlight >= p.most:
		unsent = ReasonInFlight
	}
	if unsent != "" {
		p.ending = record.Ending{Kind: record.Unsent, Reason: unsent, Done: at}
		p.end(&o.next)
		p.pull()
		return
	}

	a := p.attempts.take()
	a.Arrival, a.Number = o.next, 1
	a.Planned, a.Sent = at, now
	a.Timeout, a.Deadline = at+kind.timeout, at+kind.deadline
	a.state.due = due
	p.pull()
	p.send(a, kind.queue)
}

// send books a, which starts now, and has the shell send it.
func (p *Population) send(a *Attempt, q *waiting) {
	q.push(a)
	p.inFlight++
	p.recorder.Attempt(a.Arrival.Step, a.Arrival.Class, a.Arrival.At, a.Planned, a.Sent, a.Number == 1)
	p.effects = append(p.effects, Effect{Kind: Send, Attempt: a})
}

// cancel gives a up at done and ends its original.
func (p *Population) cancel(a *Attempt, kind record.Kind, done time.Duration) {
	p.leave(a)
	p.ending = record.Ending{Kind: kind, Sent: a.Sent, Done: done}
	p.end(&a.Arrival)
	p.effects = append(p.effects, Effect{Kind: Cancel, Attempt: a})
}

// leave takes a, which is over, out of what is in flight.
func (p *Population) leave(a *Attempt) {
	a.state.queue.remove(a)
	p.inFlight--
}

// end books that original ended, and how, which is in p.ending but for what the
// original itself says.
func (p *Population) end(original *plan.Arrival) {
	p.open--
	p.ending.Step, p.ending.Class, p.ending.Planned = original.Step, original.Class, original.At
	p.recorder.End(&p.ending)
}
