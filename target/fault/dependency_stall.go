package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "dependency_stall",
		Doc:   "requests that need a dependency keep their worker while it does not answer",
		Knobs: func() any { return &dependencyStallKnobs{Scope: Scope{Share: 0.1}} },
		New:   newDependencyStall,
	})
}

type dependencyStallKnobs struct {
	Scope `yaml:",inline"`
	Hold  time.Duration `yaml:"hold" doc:"how long such a request waits before it does its work all the same; at least 0; 0: until the fault is over"`
}

// dependencyStall has the requests that are hit wait for something that does
// not come. The others go on, until all workers wait. The share of the requests
// that are hit grows along a ramp.
type dependencyStall struct {
	ramp
	scope *scope
	hold  time.Duration
	level float64
}

func newDependencyStall(s Setup, knobs any) (Fault, error) {
	k := knobs.(*dependencyStallKnobs)
	scope, err := k.build(s)
	ramp, rampErr := newRamp(s)
	errs := []error{err, rampErr}
	if k.Hold < 0 {
		errs = append(errs, plugin.Knob("hold", k.Hold, "a duration of at least 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &dependencyStall{ramp: ramp, scope: scope, hold: k.Hold}, nil
}

func (f *dependencyStall) Bend(now time.Duration, _ *Conditions) (next time.Duration) {
	f.level, next = f.ramp.level(now)
	return next
}

func (f *dependencyStall) Treat(_ time.Duration, r *protection.Request, t *Treatment) {
	if !f.scope.hits(r, f.level) {
		return
	}
	if f.hold == 0 {
		t.Stuck = true
		return
	}
	t.Work = min(t.Work, protection.Never-f.hold) + f.hold
}
