package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "contention",
		Doc:   "workers get in each other's way: the more are busy, the longer each takes",
		Knobs: func() any { return &contentionKnobs{Switch: on, Contention: 0.05, Coherence: 0.001} },
		New:   newContention,
	})
}

type contentionKnobs struct {
	Switch     `yaml:",inline"`
	Contention float64 `yaml:"contention" doc:"coefficient of waiting for what is shared, such as a lock; 0 to 1: 1 leaves the capacity of one worker"`
	Coherence  float64 `yaml:"coherence" doc:"coefficient of keeping each other informed, which makes capacity shrink as more are busy; 0 to 1"`
}

// contention is the universal scalability law (Gunther): with n workers busy,
// work takes 1 + contention·(n-1) + coherence·n·(n-1) times as long. Both
// coefficients grow along a ramp.
type contention struct {
	ramp
	contention, coherence float64
}

func newContention(s Setup, knobs any) (Fault, error) {
	k := knobs.(*contentionKnobs)
	ramp, err := newRamp(s)
	errs := []error{k.check(), err}
	for _, knob := range []struct {
		name string
		is   float64
	}{{"contention", k.Contention}, {"coherence", k.Coherence}} {
		if !(knob.is >= 0 && knob.is <= 1) {
			errs = append(errs, plugin.Knob(knob.name, knob.is, "a coefficient from 0 to 1"))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &contention{ramp: ramp, contention: k.Share * k.Contention, coherence: k.Share * k.Coherence}, nil
}

func (f *contention) Bend(now time.Duration, c *Conditions) (next time.Duration) {
	level, next := f.level(now)
	c.Contention += f.contention * level
	c.Coherence += f.coherence * level
	return next
}
