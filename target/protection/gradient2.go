package protection

import (
	"errors"
	"math"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "gradient2",
		Doc:   "limits the requests inside by how much longer they take of late than over a long time (Gradient2)",
		Worse: "when an overload lasts: the long-term average learns that slow is usual, and the limit grows until requests take tolerance times max_no_load, however short the time that callers have; it takes no notice of drops",
		Knobs: func() any {
			return &gradient2Knobs{
				Initial: 20, MinLimit: 20, MaxLimit: 200, Smoothing: 0.2, QueueSize: 4, LongWindow: 600, Tolerance: 1.5,
				WindowKnobs: WindowKnobs{Window: 100 * time.Millisecond}, PartitionKnobs: unshared,
			}
		},
		New: newGradient2,
	})
}

type gradient2Knobs struct {
	Initial        int           `yaml:"initial" doc:"limit at first, within min_limit and max_limit"`
	MinLimit       int           `yaml:"min_limit" doc:"lowest limit, at least 1"`
	MaxLimit       int           `yaml:"max_limit" doc:"highest limit, at least min_limit"`
	Smoothing      float64       `yaml:"smoothing" doc:"weight of a new limit beside the old one; above 0, up to 1"`
	QueueSize      int           `yaml:"queue_size" doc:"requests that may wait, so that the limit can grow; at least 0"`
	LongWindow     int           `yaml:"long_window" doc:"samples over which the long-term average reaches; at least 1"`
	Tolerance      float64       `yaml:"tolerance" doc:"how many times the long-term average a request may take before the limit falls; at least 1"`
	MaxNoLoad      time.Duration `yaml:"max_no_load" doc:"longest long-term average that is believed, so that a lasting overload is not taken for a slow server; above 0; 0 means twice the declared mean service time"`
	WindowKnobs    `yaml:",inline"`
	PartitionKnobs `yaml:",inline"`
}

// ReasonGradient2 is why gradient2 refuses.
const ReasonGradient2 Reason = "gradient2"

// gradient2 is Gradient2Limit of Netflix' concurrency-limits:
//
//	gradient = tolerance · long / short, from 0.5 to 1
//	new      = limit · gradient + queue_size
//	limit    = (1 - smoothing) · limit + smoothing · new
//
// It stays where it is while less than half of it is used. When short is less
// than half of long, long falls by a twentieth: the load has gone. Drops are
// ignored, as upstream (#176). Upstream believes any long-term average (#88); here
// max_no_load bounds it.
type gradient2 struct {
	adaptive
	knobs gradient2Knobs
	long  expAverage
	most  float64
	limit float64
}

func newGradient2(s Setup, knobs any) (Protection, error) {
	k := knobs.(*gradient2Knobs)
	common, err := newAdaptive(s, k.WindowKnobs, k.PartitionKnobs)
	errs := []error{err, limitRange(k.Initial, k.MinLimit, k.MaxLimit)}
	if !(k.Smoothing > 0 && k.Smoothing <= 1) {
		errs = append(errs, plugin.Knob("smoothing", k.Smoothing, "a weight above 0, up to 1"))
	}
	if k.QueueSize < 0 {
		errs = append(errs, plugin.Knob("queue_size", k.QueueSize, "a number of requests, at least 0"))
	}
	if k.LongWindow < 1 {
		errs = append(errs, plugin.Knob("long_window", k.LongWindow, "a number of samples, at least 1"))
	}
	if !(k.Tolerance >= 1 && k.Tolerance <= 1e6) {
		errs = append(errs, plugin.Knob("tolerance", k.Tolerance, "a factor of at least 1"))
	}
	if k.MaxNoLoad < 0 {
		errs = append(errs, plugin.Knob("max_no_load", k.MaxNoLoad, "a duration above 0, or 0 for twice the service time"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &gradient2{
		adaptive: common, knobs: *k, long: expAverage{window: float64(k.LongWindow)},
		most: believable(k.MaxNoLoad, s), limit: float64(k.Initial),
	}, nil
}

func (p *gradient2) Admit(_ time.Duration, r *Request, l Load) Reason {
	if !p.admit(r, l.Admitted, p.Limit()) {
		return ReasonGradient2
	}
	return ""
}

func (p *gradient2) Leave(now time.Duration, r *Request, e End) {
	if s, ok := p.sample(now, r, e); ok {
		p.learn(s)
	}
}

// learn takes one sample.
func (p *gradient2) learn(s sample) {
	p.long.add(s.rtt)
	long := math.Min(p.long.value, p.most)
	p.long.value = long
	if long/s.rtt > 2 {
		p.long.value *= 0.95
	}
	if float64(s.inside) < p.limit/2 {
		return
	}
	gradient := math.Max(0.5, math.Min(1, p.knobs.Tolerance*long/s.rtt))
	next := p.limit*gradient + float64(p.knobs.QueueSize)
	next = (1-p.knobs.Smoothing)*p.limit + p.knobs.Smoothing*next
	p.limit = math.Max(float64(p.knobs.MinLimit), math.Min(float64(p.knobs.MaxLimit), next))
}

func (p *gradient2) Limit() int { return int(p.limit) }

// expAverage is the plain mean of the first samples, and then weighs each new one
// 2/(window+1).
type expAverage struct {
	window float64
	value  float64
	n      int
	sum    float64
}

// plainSamples is of how many samples the plain mean is taken.
const plainSamples = 10

func (a *expAverage) add(v float64) {
	if a.n < plainSamples {
		a.n++
		a.sum += v
		a.value = a.sum / float64(a.n)
		return
	}
	weight := 2 / (a.window + 1)
	a.value = a.value*(1-weight) + v*weight
}
