package protection

import (
	"errors"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "aimd",
		Doc:   "limits the requests inside to one more after each that was quick, and to a tenth less after one that was not (AIMD)",
		Worse: "with a timeout that callers do not share: it goes on adding requests until they take that long, however few of the answers are in time",
		Knobs: func() any {
			return &aimdKnobs{Initial: 20, MinLimit: 20, MaxLimit: 200, Backoff: 0.9, PartitionKnobs: unshared}
		},
		New: newAIMD,
	})
}

type aimdKnobs struct {
	Initial        int           `yaml:"initial" doc:"limit at first, within min_limit and max_limit"`
	MinLimit       int           `yaml:"min_limit" doc:"lowest limit, at least 1"`
	MaxLimit       int           `yaml:"max_limit" doc:"highest limit, at least min_limit"`
	Backoff        float64       `yaml:"backoff" doc:"what is left of the limit after a request that was slow, dropped or failed; from 0.5, below 1"`
	Timeout        time.Duration `yaml:"timeout" doc:"a request that was inside for longer was slow; above 0; 0 means five times the declared mean service time (Netflix: 5s)"`
	WindowKnobs    `yaml:",inline"`
	PartitionKnobs `yaml:",inline"`
}

// ReasonAIMD is why aimd refuses.
const ReasonAIMD Reason = "aimd"

// aimd is AIMDLimit of Netflix' concurrency-limits: the limit is a whole number,
// and grows only while at least half of it is used.
type aimd struct {
	adaptive
	min, max int
	backoff  float64
	timeout  float64
	limit    int
}

func newAIMD(s Setup, knobs any) (Protection, error) {
	k := knobs.(*aimdKnobs)
	common, err := newAdaptive(s, k.WindowKnobs, k.PartitionKnobs)
	errs := []error{err, limitRange(k.Initial, k.MinLimit, k.MaxLimit)}
	if !(k.Backoff >= 0.5 && k.Backoff < 1) {
		errs = append(errs, plugin.Knob("backoff", k.Backoff, "a share from 0.5, below 1"))
	}
	if k.Timeout < 0 {
		errs = append(errs, plugin.Knob("timeout", k.Timeout, "a duration above 0, or 0 for five times the service time"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	timeout := k.Timeout
	if timeout == 0 {
		timeout = 5 * s.Service
	}
	return &aimd{
		adaptive: common, min: k.MinLimit, max: k.MaxLimit,
		backoff: k.Backoff, timeout: float64(timeout), limit: k.Initial,
	}, nil
}

// limitRange reports limits that are none, and then those that are out of order.
func limitRange(initial, low, high int) error {
	var errs []error
	for _, knob := range []struct {
		name string
		is   int
	}{{"initial", initial}, {"min_limit", low}, {"max_limit", high}} {
		if knob.is < 1 {
			errs = append(errs, plugin.Knob(knob.name, knob.is, "a number of requests, at least 1"))
		}
	}
	switch {
	case len(errs) > 0:
	case high < low:
		errs = append(errs, plugin.Knob("max_limit", high, "a number of requests, at least min_limit"))
	case initial < low || initial > high:
		errs = append(errs, plugin.Knob("initial", initial, "a number of requests from min_limit to max_limit"))
	}
	return errors.Join(errs...)
}

func (p *aimd) Admit(_ time.Duration, r *Request, l Load) Reason {
	if !p.admit(r, l.Admitted, p.limit) {
		return ReasonAIMD
	}
	return ""
}

func (p *aimd) Leave(now time.Duration, r *Request, e End) {
	if s, ok := p.sample(now, r, e); ok {
		p.learn(s)
	}
}

// learn takes one sample.
func (p *aimd) learn(s sample) {
	switch {
	case s.dropped || s.rtt > p.timeout:
		p.limit = int(float64(p.limit) * p.backoff)
	case 2*s.inside >= p.limit:
		p.limit++
	}
	p.limit = min(max(p.limit, p.min), p.max)
}

func (p *aimd) Limit() int { return p.limit }
