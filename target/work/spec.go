package work

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"knee/target/plugin"
)

// Bounds of the declared mean.
const (
	MinMean = time.Microsecond
	MaxMean = time.Hour
)

// longest caps a single draw, so that no sum of instants can overflow. It
// cuts only what a Pareto tail would ask of a worker for more than a year.
const longest = 365 * 24 * time.Hour

// A Spec describes a distribution of service times. Whatever the kind, the
// expected service time is Mean: the other parameters only set its shape, so
// that a change of kind leaves the capacity of the server where it was.
type Spec struct {
	Kind       string        `yaml:"kind" doc:"shape of the service times: constant, exponential, lognormal, bimodal or pareto"`
	Mean       time.Duration `yaml:"mean" doc:"expected service time on an idle, healthy worker, 1µs to 1h"`
	CV         float64       `yaml:"cv,omitempty" doc:"lognormal: standard deviation as a multiple of the mean, above 0 to 100; default 1"`
	SlowShare  float64       `yaml:"slow_share,omitempty" doc:"bimodal: share of slow requests, above 0 and below 1; default 0.01"`
	SlowFactor float64       `yaml:"slow_factor,omitempty" doc:"bimodal: how many times longer a slow request takes than a fast one, above 1 to 10000; default 101"`
	Alpha      float64       `yaml:"alpha,omitempty" doc:"pareto: tail index, above 1 to 100; the variance is finite above 2; default 2.5"`
}

// kind is what one shape adds: the knobs it reads and how it is built from
// knobs that were checked.
type kind struct {
	knobs []string
	build func(Spec) Dist
}

var kinds = map[string]kind{
	"constant":    {nil, newConstant},
	"exponential": {nil, newExponential},
	"lognormal":   {[]string{"cv"}, newLognormal},
	"bimodal":     {[]string{"slow_share", "slow_factor"}, newBimodal},
	"pareto":      {[]string{"alpha"}, newPareto},
}

// Kinds returns the values that Spec.Kind may have, sorted.
func Kinds() []string {
	names := make([]string, 0, len(kinds))
	for n := range kinds {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// New builds the distribution that s describes. Its error joins one
// *plugin.KnobError for each field that is out of range, or that is set
// although the kind does not read it.
func New(s Spec) (Dist, error) {
	k, known := kinds[s.Kind]
	var errs []error
	if !known {
		errs = append(errs, plugin.Knob("kind", fmt.Sprintf("%q", s.Kind), "one of "+strings.Join(Kinds(), ", ")))
	}
	if s.Mean < MinMean || s.Mean > MaxMean {
		errs = append(errs, plugin.Knob("mean", s.Mean, "a duration from 1µs to 1h"))
	}
	for _, p := range s.shapes() {
		switch {
		case *p.value == 0:
			*p.value = p.preset
		case known && !slices.Contains(k.knobs, p.knob):
			errs = append(errs, plugin.Knob(p.knob, *p.value, "nothing: "+s.Kind+" does not use it"))
		case !p.legal(*p.value):
			errs = append(errs, plugin.Knob(p.knob, *p.value, p.want))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return k.build(s), nil
}

// shape is one parameter beside the mean.
type shape struct {
	knob   string
	value  *float64
	preset float64 // what 0 stands for
	legal  func(float64) bool
	want   string
}

func (s *Spec) shapes() []shape {
	return []shape{
		{"cv", &s.CV, 1, func(v float64) bool { return v > 0 && v <= 100 }, "a number above 0, up to 100"},
		{"slow_share", &s.SlowShare, 0.01, func(v float64) bool { return v > 0 && v < 1 }, "a share above 0 and below 1"},
		{"slow_factor", &s.SlowFactor, 101, func(v float64) bool { return v > 1 && v <= 10000 }, "a number above 1, up to 10000"},
		{"alpha", &s.Alpha, 2.5, func(v float64) bool { return v > 1 && v <= 100 }, "a number above 1, up to 100"},
	}
}

// span rounds ns nanoseconds to a legal draw.
func span(ns float64) time.Duration {
	if ns >= float64(longest) {
		return longest
	}
	return max(1, time.Duration(ns+0.5))
}
