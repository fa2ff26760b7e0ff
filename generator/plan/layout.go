package plan

import (
	"iter"
	"slices"
	"time"
)

// A Plan is a checked Spec laid out in time. It does not change and may be
// read from many goroutines; each walk over it has a Cursor of its own.
type Plan struct {
	spec  Spec
	steps []Step
	flows []flow
	share Share
}

// New checks the spec and lays it out. The error joins one *FieldError for
// each fault.
func New(s Spec) (*Plan, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s.Phases = slices.Clone(s.Phases)
	s.Classes = slices.Clone(s.Classes)
	if s.Arrivals == Replayed && len(s.Phases) == 0 {
		s.Phases = []Phase{{Kind: Hold, For: s.Replay.Lasts()}}
	}
	p := &Plan{spec: s, steps: stepsOf(s.Seed, s.Phases), share: Share{Of: 1}}
	p.flows = flowsOf(&s, p.steps)
	p.addRates()
	return p, nil
}

// addRates completes the rates of the steps by what does not follow from the
// plan's phases.
func (p *Plan) addRates() {
	for i := range p.flows {
		f := &p.flows[i]
		if f.name == "" && p.spec.Arrivals != Replayed {
			continue
		}
		for k := range p.steps {
			s := &p.steps[k]
			rate := f.expected(s.Start, s.Start+s.Duration) / s.Duration.Seconds()
			s.From += rate
			s.To += rate
		}
	}
}

// constantWork is what a Work may say about itself: that all draws are equal.
type constantWork interface{ Constant() bool }

// Steps returns the steps in the order of time. Those of a share are the
// whole's, rates included.
func (p *Plan) Steps() []Step { return slices.Clone(p.steps) }

// Duration returns how long the plan is.
func (p *Plan) Duration() time.Duration {
	last := p.steps[len(p.steps)-1]
	return last.Start + last.Duration
}

// Classes returns the classes in the order that Arrival.Class counts them.
func (p *Plan) Classes() []Class { return slices.Clone(p.spec.Classes) }

// Clients returns the size of the client population, of which a share has a part.
func (p *Plan) Clients() int { return p.spec.Clients }

// Expected returns the number of arrivals that the rate integrates to; for a
// share, the part that its clients expect of that.
func (p *Plan) Expected() float64 {
	var sum float64
	for i := range p.flows {
		sum += p.flows[i].expected(0, p.Duration())
	}
	return sum * p.share.part(p.spec.Clients)
}

// All returns the arrivals in the order of time, since the start of the plan.
func (p *Plan) All() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		c := p.Cursor(0)
		for a, ok := c.Next(); ok; a, ok = c.Next() {
			if !yield(a) {
				return
			}
		}
	}
}
