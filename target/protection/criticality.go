package protection

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

// ReasonCriticality is why criticality refuses: the load has reached the threshold
// of the request's level.
const ReasonCriticality Reason = "criticality"

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "criticality",
		Doc:   "refuses the less critical first: each of four levels has a threshold of load from which it is refused",
		Worse: "when all requests are equally critical: it is a bound on the wait then, and as low as the threshold of that level",
		Knobs: func() any {
			return &criticalityKnobs{
				Signal: signalWait, Setpoint: 100 * time.Millisecond,
				Sheddable: 0.25, SheddablePlus: 0.5, Critical: 0.75, CriticalPlus: 1,
			}
		},
		New: newCriticality,
	})
}

type criticalityKnobs struct {
	Signal        string        `yaml:"signal" doc:"what load is: wait (cost in the queue at the rate measured), age (of the oldest in the queue) or in_flight (requests inside)"`
	Setpoint      time.Duration `yaml:"setpoint" doc:"wait or age that is load 1, a duration above 0"`
	InFlight      int           `yaml:"in_flight" doc:"requests inside that are load 1, at least 1; 0 means what the workers and a queue of one setpoint hold as declared"`
	Sheddable     float64       `yaml:"sheddable" doc:"load from which sheddable requests are refused, above 0"`
	SheddablePlus float64       `yaml:"sheddable_plus" doc:"load from which sheddable_plus ones are too, at least sheddable"`
	Critical      float64       `yaml:"critical" doc:"load from which critical ones are too, at least sheddable_plus"`
	CriticalPlus  float64       `yaml:"critical_plus" doc:"load from which critical_plus ones are too, at least critical; 0 means never"`
	Band          float64       `yaml:"band" doc:"load below each threshold over which the share refused of its level rises from none to all, from 0 to the smallest distance between two thresholds"`
}

// criticality is the rule of chapter 21 of the SRE book: "an overloaded task
// rejects lower levels at lower thresholds", and a level is refused only while
// all of the lower ones already are. The book leaves open what load is, and
// Google's tasks go by CPU; see loadSignal for what there is here.
//
// A request is refused when load >= threshold. With a band, the share refused is
// linear from threshold - band to threshold, which takes the steps out of what is
// let in; the book has none. Protected requests are always let in.
type criticality struct {
	signal loadSignal
	from   [4]float64 // load up to which none of a level is refused
	all    [4]float64 // load from which all of a level are
	rand   *rand.Rand
}

func newCriticality(s Setup, knobs any) (Protection, error) {
	k := knobs.(*criticalityKnobs)
	signal, err := newLoadSignal(s, k.Signal, k.Setpoint, k.InFlight)
	p := &criticality{signal: signal, rand: s.Rand}
	p.all = [4]float64{k.Sheddable, k.SheddablePlus, k.Critical, k.CriticalPlus}
	if k.CriticalPlus == 0 {
		p.all[CriticalPlus] = math.Inf(1)
	}
	gap, terr := p.order()
	errs := []error{err, terr}
	if !(k.Band >= 0) { // not a number fails too
		errs = append(errs, plugin.Knob("band", k.Band, "a load of at least 0"))
	} else if terr == nil && k.Band > gap {
		errs = append(errs, plugin.Knob("band", k.Band, "at most the smallest distance between two thresholds, so that a level is refused only once all of the lower ones are"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, all := range p.all {
		p.from[i] = all - k.Band
	}
	return p, nil
}

// order returns the smallest distance between two thresholds, and what is wrong
// with them.
func (p *criticality) order() (gap float64, err error) {
	names := [4]string{"sheddable", "sheddable_plus", "critical", "critical_plus"}
	var errs []error
	gap, below := math.Inf(1), 0.0
	for i, at := range p.all {
		switch {
		case !(at > 0): // not a number fails too
			errs = append(errs, plugin.Knob(names[i], at, "a load above 0"))
			continue
		case at < below:
			errs = append(errs, plugin.Knob(names[i], at, "at least "+names[i-1]))
		}
		gap, below = min(gap, at-below), at
	}
	return gap, errors.Join(errs...)
}

// Needs implements Knower.
func (*criticality) Needs() string { return "the criticality" }

func (p *criticality) Admit(now time.Duration, r *Request, l Load) Reason {
	if r.Protected {
		return ""
	}
	level := min(r.Criticality, CriticalPlus)
	load := p.signal.at(now, &l)
	switch {
	case load < p.from[level]:
		return ""
	case load >= p.all[level]:
		return ReasonCriticality
	}
	if p.rand.Float64()*(p.all[level]-p.from[level]) < load-p.from[level] {
		return ReasonCriticality
	}
	return ""
}

func (*criticality) Leave(time.Duration, *Request, End) {}
