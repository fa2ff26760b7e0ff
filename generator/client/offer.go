package client

import (
	"time"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
)

// offer is the plan that a population is working through: the arrivals still to
// come and the steps still to begin.
type offer struct {
	cursor *plan.Cursor
	steps  []plan.Step
	begun  int           // how many of steps the recorder knows
	base   int           // run index of the first step
	trial  int           // of the run
	start  time.Duration // of the plan, on the run's clock
	until  time.Duration // last instant at which an arrival may come
	closed int           // originals that are open at each time; 0: arrivals come at the plan's instants
	held   bool          // next waits until an original has ended
	next   plan.Arrival  // by its step in the run; At is Never when none is left
}

// Offer begins to offer p, shifted to start; its steps belong to trial. Their
// indexes in the run continue those of the plans offered before. The recorder
// learns of a step when its first arrival comes or a later step begins, and of
// the steps that bring no further arrivals when the last arrival has come.
//
// Offering a plan while another one is being offered is a mistake of the
// programmer; it panics.
func (p *Population) Offer(pl *plan.Plan, trial int, start time.Duration) {
	p.offering(pl, trial, start, 0)
}

// OfferClosed offers the arrivals of p, which has one step, in a closed loop: in
// their order, but each as soon as fewer than n originals are open, which is when
// it is due. None comes after the time of the plan is over, or when it has no
// arrivals left. What is measured so is no answer to an offered load, because a
// slow server slows its callers: it belongs beside results of its own kind.
//
// n is at least 1. See Offer for the rest.
func (p *Population) OfferClosed(pl *plan.Plan, trial int, start time.Duration, n int) {
	if n < 1 || len(pl.Steps()) != 1 {
		panic("client: OfferClosed without callers, or of a plan with several steps")
	}
	p.offering(pl, trial, start, n)
	p.offer.until = start + pl.Duration() - 1
}

// offering begins to offer p.
func (p *Population) offering(pl *plan.Plan, trial int, start time.Duration, closed int) {
	if p.Offering() {
		panic("client: Offer before the plan offered last was over")
	}
	p.caller.redraw = pl.Redraw()
	p.offer = offer{
		closed: closed,
		cursor: pl.Cursor(start),
		steps:  pl.Steps(),
		base:   p.offer.base + p.offer.begun,
		trial:  trial,
		start:  start,
		until:  protection.Never,
	}
	p.pull()
}

// Offering reports whether arrivals are left.
func (p *Population) Offering() bool { return p.offer.next.At != protection.Never || p.offer.held }

// Stop ends the plan at now: arrivals that are due later do not come and are
// not counted. Those due by now are sent by the next Advance.
func (p *Population) Stop(now time.Duration) {
	p.offer.until, p.offer.held = now, false
	if p.offer.next.At > now {
		p.offer.next.At = protection.Never
	}
}

// Cut ends the plan at an instant that is still to come: arrivals that are due
// then or later do not come and are not counted, the step that is on takes less
// time, and those after it never begin. Those that the recorder knows already
// take no time.
func (p *Population) Cut(at time.Duration) {
	o := &p.offer
	o.until, o.held = min(o.until, at-1), false
	if o.next.At >= at {
		o.next.At = protection.Never
	}
	n := len(o.steps)
	for i := range o.steps {
		s := &o.steps[i]
		left := max(0, at-o.start-s.Start)
		if left == 0 {
			n = min(n, i)
		}
		if left >= s.Duration {
			continue
		}
		s.To = s.From + (s.To-s.From)*left.Seconds()/s.Duration.Seconds()
		s.Duration = left
		if i < o.begun {
			p.recorder.Shorten(o.info(i))
		}
	}
	o.steps = o.steps[:max(n, o.begun)]
	p.begin(n)
}

// pull fetches the arrival that comes next.
func (p *Population) pull() {
	o := &p.offer
	ok := o.cursor.Fetch(&o.next)
	o.next.Step += o.base
	if o.closed > 0 && ok {
		o.next.At, o.held = protection.Never, true
		return
	}
	if ok && o.next.At <= o.until {
		return
	}
	o.next.At = protection.Never
	if !ok {
		p.begin(len(o.steps))
	}
}

// release makes the arrival that is held due at now, once there is room for it,
// or gives it up when the time is over.
func (p *Population) release(now time.Duration) {
	o := &p.offer
	switch {
	case now > o.until:
		o.held = false
		p.begin(len(o.steps))
	case now >= o.start && p.caller.open < o.closed:
		o.held, o.next.At = false, now
	}
}

// begin tells the recorder of the steps of the plan before n that it does not
// know yet.
func (p *Population) begin(n int) {
	o := &p.offer
	for ; o.begun < n; o.begun++ {
		p.recorder.Begin(o.info(o.begun))
	}
}

// info is what the recorder is told of step i of the plan.
func (o *offer) info(i int) record.StepInfo {
	s := o.steps[i]
	return record.StepInfo{
		Index:    o.base + i,
		Phase:    s.Label,
		Name:     s.Name,
		Trial:    o.trial,
		Start:    o.start + s.Start,
		Duration: s.Duration,
		From:     s.From,
		To:       s.To,
	}
}
