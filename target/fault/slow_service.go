package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "slow_service",
		Doc:   "requests take a multiple of their work, or a fixed time",
		Knobs: func() any { return &slowServiceKnobs{Scope: everything, Factor: 3} },
		New:   newSlowService,
	})
}

type slowServiceKnobs struct {
	Scope  `yaml:",inline"`
	Factor float64       `yaml:"factor" doc:"requests take this many times their work; above 0, up to 1e6"`
	Fixed  time.Duration `yaml:"fixed" doc:"requests take this long instead of their work, and factor does not count; above 0; 0: no such time"`
}

// slowService makes work take longer. When it hits everything by a factor, work
// in progress is slowed down as well; otherwise requests are hit as a worker
// takes them. The factor grows along a ramp from 1; of a fixed time the share of
// the requests that it hits does.
type slowService struct {
	ramp
	scope  *scope
	factor float64
	fixed  time.Duration
	pace   bool // the whole server is slower, not single requests
	level  float64
}

func newSlowService(s Setup, knobs any) (Fault, error) {
	k := knobs.(*slowServiceKnobs)
	scope, err := k.build(s)
	ramp, rampErr := newRamp(s)
	errs := []error{err, rampErr}
	if !(k.Factor > 0 && k.Factor <= 1e6) {
		errs = append(errs, plugin.Knob("factor", k.Factor, "a factor above 0, up to 1e6"))
	}
	if k.Fixed < 0 {
		errs = append(errs, plugin.Knob("fixed", k.Fixed, "a duration above 0, or 0 for none"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &slowService{ramp: ramp, scope: scope, factor: k.Factor, fixed: k.Fixed, pace: k.whole() && k.Fixed == 0}, nil
}

func (f *slowService) Bend(now time.Duration, c *Conditions) (next time.Duration) {
	f.level, next = f.ramp.level(now)
	if f.pace {
		c.WorkFactor *= f.grown()
	}
	return next
}

// grown is the factor so far.
func (f *slowService) grown() float64 { return 1 + (f.factor-1)*f.level }

func (f *slowService) Treat(_ time.Duration, r *protection.Request, t *Treatment) {
	switch {
	case f.pace:
	case f.fixed > 0:
		if f.scope.hits(r, f.level) {
			t.Work = f.fixed
		}
	case f.scope.hits(r, 1):
		t.Work = longer(t.Work, f.grown())
	}
}

// longer returns a duration times a factor, within range.
func longer(d time.Duration, factor float64) time.Duration {
	return time.Duration(min(float64(d)*factor, float64(1<<62)))
}
