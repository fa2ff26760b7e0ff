package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "error_share",
		Doc:   "a share of the requests fails, after it has taken its time",
		Knobs: func() any { return &errorShareKnobs{Scope: Scope{Share: 0.1}} },
		New:   newErrorShare,
	})
}

type errorShareKnobs struct {
	Scope `yaml:",inline"`
}

// ReasonFault is why work fails under error_share.
const ReasonFault protection.Reason = "fault"

// errorShare makes work fail once it is done: a failure costs what a success
// does. The share grows along a ramp.
type errorShare struct {
	ramp
	scope *scope
	level float64
}

func newErrorShare(s Setup, knobs any) (Fault, error) {
	k := knobs.(*errorShareKnobs)
	scope, err := k.build(s)
	ramp, rampErr := newRamp(s)
	if err := errors.Join(err, rampErr); err != nil {
		return nil, err
	}
	return &errorShare{ramp: ramp, scope: scope}, nil
}

func (f *errorShare) Bend(now time.Duration, _ *Conditions) (next time.Duration) {
	f.level, next = f.ramp.level(now)
	return next
}

func (f *errorShare) Treat(_ time.Duration, r *protection.Request, t *Treatment) {
	if f.scope.hits(r, f.level) {
		t.Fail = ReasonFault
	}
}
