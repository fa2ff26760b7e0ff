package client

import (
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// A Population turns the arrivals of plans into originals of a Caller, and books
// what becomes of them with its recorder.
//
// A Population is used by one goroutine. Instants given to it must not decrease.
type Population struct {
	caller   Caller
	recorder *record.Recorder
	offer    offer
}

// New returns a population without load. It returns an error for options
// outside their range, and for behaviours that cannot work in their order.
func New(o Options, r *record.Recorder) (*Population, error) {
	p := &Population{recorder: r}
	p.offer.next.At = never
	if err := p.caller.init(o, books{r}); err != nil {
		return nil, err
	}
	return p, nil
}

// Open returns how many originals have come and not ended.
func (p *Population) Open() int { return p.caller.open }

// InFlight returns how many attempts are outstanding.
func (p *Population) InFlight() int { return p.caller.inFlight }

// Next returns the next instant at which Advance has something to do; Never
// when there is none.
func (p *Population) Next() time.Duration {
	next := min(p.caller.Next(), p.offer.next.At, p.recorder.NextTick())
	if p.offer.held && p.caller.open < p.offer.closed {
		next = min(next, p.offer.start) // or at once
	}
	return next
}

// Advance handles what is due by now in the order of its instants; at one
// instant the recorder's tick first, then ends of waits, then what is sent again,
// then the arrival. A shell that comes late sends at now what was due earlier,
// unless nobody would wait for the answer any more: that is unsent, out_of_time.
//
// The effects are to be carried out in their order, before any other call, which
// reuses the slice and the cancelled attempts.
func (p *Population) Advance(now time.Duration) []Effect {
	p.caller.recycle()
	p.advance(now, "")
	return p.caller.effects
}

// Abandon ends the run at now: it cancels every attempt, and what is open ends
// as Unfinished, or as Withheld when nothing of it was sent. Arrivals that were
// due and not sent yet are unsent, out_of_time.
func (p *Population) Abandon(now time.Duration) []Effect {
	p.caller.recycle()
	p.Stop(now)
	p.caller.closing = true
	p.advance(now, ReasonOutOfTime)
	p.caller.abandon(now)
	return p.caller.effects
}

// Answer ends a with an answer that came at now; see Caller.Answer.
func (p *Population) Answer(now time.Duration, a *Attempt, answer Answer) []Effect {
	return p.caller.Answer(now, a, answer)
}

// advance handles what is due by now. Arrivals are not sent when unsent says
// why not.
func (p *Population) advance(now time.Duration, unsent string) {
	for {
		if p.offer.held {
			p.release(now)
		}
		tick, arrival, due := p.recorder.NextTick(), p.offer.next.At, p.caller.Next()
		switch at := min(tick, due, arrival); {
		case at > now || at == never:
			return
		case at == tick:
			p.recorder.Tick(at)
		case at == due:
			p.caller.step(now)
		default:
			p.arrive(now, unsent)
		}
	}
}

// arrive takes the next arrival of the plan and gives it to the caller at now,
// unless unsent says why not.
func (p *Population) arrive(now time.Duration, unsent string) {
	o := &p.offer
	p.begin(o.next.Step - o.base + 1)
	p.recorder.Planned(o.next.Step, o.next.Class, o.next.At)
	if unsent != "" {
		p.caller.refuse(&o.next, unsent)
	} else {
		p.caller.call(now, &o.next, never)
	}
	p.pull()
}

// books has a Caller's doings recorded.
type books struct{ recorder *record.Recorder }

func (b books) Attempted(a *Attempt, first bool) {
	b.recorder.Attempt(a.Arrival.Step, a.Arrival.Class, a.Arrival.At, a.Planned, a.Sent, first, a.Hedge && !first)
}

func (b books) Unattempted(a *Attempt, first bool) {
	b.recorder.Unsend(a.Arrival.Step, a.Arrival.Class, a.Arrival.At, a.Planned, a.Sent, first, a.Hedge && !first)
}

func (b books) Ended(_ *plan.Arrival, e *record.Ending) { b.recorder.End(e) }
