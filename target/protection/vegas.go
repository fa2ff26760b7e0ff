package protection

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "vegas",
		Doc:   "limits the requests inside so that few of them wait, which it infers from how much longer they take than at their quickest (TCP Vegas)",
		Worse: "with service times that vary: what a dear request takes longer looks like a queue, and the limit falls below what the workers need; and whenever work takes longer than max_no_load even without a queue",
		Knobs: func() any {
			return &vegasKnobs{
				Initial: 20, MinLimit: 1, MaxLimit: 1000, Smoothing: 1, ProbeMultiplier: 30, Aggressive: true,
				WindowKnobs: WindowKnobs{Window: 100 * time.Millisecond}, PartitionKnobs: unshared,
			}
		},
		New: newVegas,
	})
}

type vegasKnobs struct {
	Initial         int           `yaml:"initial" doc:"limit at first, within min_limit and max_limit"`
	MinLimit        int           `yaml:"min_limit" doc:"lowest limit, at least 1, as in Netflix; the number of workers keeps all of them busy whatever is inferred"`
	MaxLimit        int           `yaml:"max_limit" doc:"highest limit, at least min_limit"`
	Smoothing       float64       `yaml:"smoothing" doc:"weight of a new limit beside the old one; above 0, up to 1"`
	Alpha           float64       `yaml:"alpha" doc:"waiting requests below which the limit grows; above 0; 0 means 3 · log10(limit)"`
	Beta            float64       `yaml:"beta" doc:"waiting requests above which it falls; above 0; 0 means 6 · log10(limit)"`
	Step            float64       `yaml:"step" doc:"by how much it grows and falls; above 0; 0 means log10(limit)"`
	Aggressive      bool          `yaml:"aggressive" doc:"grow by beta while no more than threshold wait"`
	Threshold       float64       `yaml:"threshold" doc:"waiting requests up to which it grows by beta; above 0; 0 means log10(limit)"`
	Decrease        float64       `yaml:"decrease" doc:"fall to this share of the limit in place of step; above 0, below 1; 0 means by step"`
	ProbeMultiplier int           `yaml:"probe_multiplier" doc:"after so many samples for each request of the limit, more or less, the quickest time is measured anew; at least 1"`
	MaxNoLoad       time.Duration `yaml:"max_no_load" doc:"longest time that is believed to be that without load, so that a server that is overloaded from the start is not taken for a slow one; above 0; 0 means twice the declared mean service time; with window 0 what counts is the luckiest request"`
	WindowKnobs     `yaml:",inline"`
	PartitionKnobs  `yaml:",inline"`
}

// ReasonVegas is why vegas refuses.
const ReasonVegas Reason = "vegas"

// vegas is VegasLimit of Netflix' concurrency-limits. With q = ceil(limit · (1 -
// rttNoLoad / rtt)) requests waiting:
//
//	q <= threshold   limit + beta     (aggressive)
//	q < alpha        limit + step
//	q > beta         limit - step
//
// and limit - step after a drop. It stays where it is while less than half of it
// is used. The logarithms are rounded down, and at least 1. It is kept as it is
// and published rounded down.
//
// Upstream believes any time to be that without load; here max_no_load bounds
// it (Netflix/concurrency-limits#165). What that costs: while work takes longer
// than max_no_load by itself, say because of a fault, every request seems to have
// waited, and the limit falls to where the rest of the formula holds it, which can
// be a fraction of the workers. min_limit, which upstream does not have, ends that.
type vegas struct {
	adaptive
	knobs vegasKnobs
	rand  *rand.Rand

	noLoad  float64 // nanoseconds; 0: not known
	most    float64 // of noLoad
	limit   float64
	probes  int
	jitter  float64
	decided bool // jitter was drawn
}

func newVegas(s Setup, knobs any) (Protection, error) {
	k := knobs.(*vegasKnobs)
	common, err := newAdaptive(s, k.WindowKnobs, k.PartitionKnobs)
	errs := []error{err, limitRange(k.Initial, k.MinLimit, k.MaxLimit)}
	if !(k.Smoothing > 0 && k.Smoothing <= 1) {
		errs = append(errs, plugin.Knob("smoothing", k.Smoothing, "a weight above 0, up to 1"))
	}
	for _, knob := range []struct {
		name string
		is   float64
	}{{"alpha", k.Alpha}, {"beta", k.Beta}, {"step", k.Step}, {"threshold", k.Threshold}} {
		if !(knob.is >= 0 && knob.is <= 1e6) {
			errs = append(errs, plugin.Knob(knob.name, knob.is, "a number of requests above 0, or 0 for one that follows the limit"))
		}
	}
	if !(k.Decrease >= 0 && k.Decrease < 1) {
		errs = append(errs, plugin.Knob("decrease", k.Decrease, "a share above 0, below 1, or 0 for none"))
	}
	if k.ProbeMultiplier < 1 {
		errs = append(errs, plugin.Knob("probe_multiplier", k.ProbeMultiplier, "a number of at least 1"))
	}
	if k.MaxNoLoad < 0 {
		errs = append(errs, plugin.Knob("max_no_load", k.MaxNoLoad, "a duration above 0, or 0 for twice the service time"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &vegas{
		adaptive: common, knobs: *k, rand: s.Rand,
		most: believable(k.MaxNoLoad, s), limit: float64(k.Initial),
	}, nil
}

// believable is the longest time without load that is believed.
func believable(most time.Duration, s Setup) float64 {
	if most == 0 {
		return float64(2 * s.Service)
	}
	return float64(most)
}

func (p *vegas) Admit(_ time.Duration, r *Request, l Load) Reason {
	if !p.admit(r, l.Admitted, p.Limit()) {
		return ReasonVegas
	}
	return ""
}

func (p *vegas) Leave(now time.Duration, r *Request, e End) {
	if s, ok := p.sample(now, r, e); ok {
		p.learn(s)
	}
}

// learn takes one sample.
func (p *vegas) learn(s sample) {
	if !p.decided {
		p.jitter, p.decided = p.draw(), true
	}
	p.probes++
	if p.jitter*float64(p.knobs.ProbeMultiplier)*p.limit <= float64(p.probes) {
		p.jitter, p.probes = p.draw(), 0
		p.noLoad = math.Min(s.rtt, p.most)
		return
	}
	if p.noLoad == 0 || s.rtt < p.noLoad {
		p.noLoad = math.Min(s.rtt, p.most)
		return
	}
	next := p.next(s)
	if next == p.limit {
		return
	}
	next = math.Max(float64(p.knobs.MinLimit), math.Min(float64(p.knobs.MaxLimit), next))
	p.limit = (1-p.knobs.Smoothing)*p.limit + p.knobs.Smoothing*next
}

// draw returns a probe's jitter, from a half to one.
func (p *vegas) draw() float64 { return 0.5 + p.rand.Float64()/2 }

// next returns the limit that a sample asks for.
func (p *vegas) next(s sample) float64 {
	unit := log10root(p.limit)
	or := func(v, otherwise float64) float64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	alpha, beta := or(p.knobs.Alpha, 3*unit), or(p.knobs.Beta, 6*unit)
	step, threshold := or(p.knobs.Step, unit), or(p.knobs.Threshold, unit)
	fall := p.limit - step
	if p.knobs.Decrease > 0 {
		fall = p.limit * p.knobs.Decrease
	}
	waiting := math.Ceil(p.limit * (1 - p.noLoad/s.rtt))
	switch {
	case s.dropped:
		return fall
	case 2*float64(s.inside) < p.limit:
		return p.limit
	case p.knobs.Aggressive && waiting <= threshold:
		return p.limit + beta
	case waiting < alpha:
		return p.limit + step
	case waiting > beta:
		return fall
	}
	return p.limit
}

func (p *vegas) Limit() int { return int(p.limit) }
