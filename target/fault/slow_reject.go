package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "slow_reject",
		Doc:   "a rejection costs work, which workers have to do before they serve",
		Knobs: func() any { return &slowRejectKnobs{Switch: on, RejectCost: 0.2} },
		New:   newSlowReject,
	})
}

type slowRejectKnobs struct {
	Switch     `yaml:",inline"`
	RejectCost float64 `yaml:"reject_cost" doc:"share of a mean request's work that one rejection takes, 0 to 1; the larger one counts if the server has a cost of its own"`
}

// slowReject makes saying no expensive. The cost grows along a ramp.
type slowReject struct {
	ramp
	cost float64
}

func newSlowReject(s Setup, knobs any) (Fault, error) {
	k := knobs.(*slowRejectKnobs)
	ramp, err := newRamp(s)
	errs := []error{k.check(), err}
	if !(k.RejectCost >= 0 && k.RejectCost <= 1) {
		errs = append(errs, plugin.Knob("reject_cost", k.RejectCost, "a share from 0 to 1"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &slowReject{ramp: ramp, cost: k.Share * k.RejectCost}, nil
}

func (f *slowReject) Bend(now time.Duration, c *Conditions) (next time.Duration) {
	level, next := f.level(now)
	c.RejectCost = max(c.RejectCost, f.cost*level)
	return next
}
