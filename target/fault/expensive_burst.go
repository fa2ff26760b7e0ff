package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "expensive_burst",
		Doc:   "a share of the requests takes many times its work, unseen by those who estimate by cost",
		Knobs: func() any { return &expensiveBurstKnobs{Scope: Scope{Share: 0.1}, Factor: 10} },
		New:   newExpensiveBurst,
	})
}

type expensiveBurstKnobs struct {
	Scope  `yaml:",inline"`
	Factor float64 `yaml:"factor" doc:"the requests that are hit take this many times their work; above 0, up to 1e6"`
}

// expensiveBurst makes some requests dear. Their cost, by which protections
// estimate, stays what the caller said. The share that is hit grows along a ramp.
type expensiveBurst struct {
	ramp
	scope  *scope
	factor float64
	level  float64
}

func newExpensiveBurst(s Setup, knobs any) (Fault, error) {
	k := knobs.(*expensiveBurstKnobs)
	scope, err := k.build(s)
	ramp, rampErr := newRamp(s)
	errs := []error{err, rampErr}
	if !(k.Factor > 0 && k.Factor <= 1e6) {
		errs = append(errs, plugin.Knob("factor", k.Factor, "a factor above 0, up to 1e6"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &expensiveBurst{ramp: ramp, scope: scope, factor: k.Factor}, nil
}

func (f *expensiveBurst) Bend(now time.Duration, _ *Conditions) (next time.Duration) {
	f.level, next = f.ramp.level(now)
	return next
}

func (f *expensiveBurst) Treat(_ time.Duration, r *protection.Request, t *Treatment) {
	if f.scope.hits(r, f.level) {
		t.Work = longer(t.Work, f.factor)
	}
}
