package fault

import (
	"errors"
	"math"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "lose_workers",
		Doc:   "some of the workers are gone; those that are busy finish their request first",
		Knobs: func() any { return &loseWorkersKnobs{Share: 0.5} },
		New:   newLoseWorkers,
	})
}

type loseWorkersKnobs struct {
	Share float64 `yaml:"share" doc:"share of the workers that are lost, 0 to 1, rounded to whole workers; 0 switches the fault off unless count is set"`
	Count int     `yaml:"count" doc:"number of workers that are lost, and share does not count; at least 1; 0: share counts"`
}

// loseWorkers takes workers away. Along a ramp they go one by one.
type loseWorkers struct {
	ramp
	lost float64
}

func newLoseWorkers(s Setup, knobs any) (Fault, error) {
	k := knobs.(*loseWorkersKnobs)
	ramp, err := newRamp(s)
	errs := []error{err}
	if !(k.Share >= 0 && k.Share <= 1) {
		errs = append(errs, plugin.Knob("share", k.Share, "a share of the workers, 0 to 1"))
	}
	if k.Count < 0 {
		errs = append(errs, plugin.Knob("count", k.Count, "a number of workers, at least 1, or 0 for a share"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	lost := k.Share * float64(s.Workers)
	if k.Count > 0 {
		lost = float64(k.Count)
	}
	return &loseWorkers{ramp: ramp, lost: lost}, nil
}

func (f *loseWorkers) Bend(now time.Duration, c *Conditions) (next time.Duration) {
	level, next := f.level(now)
	c.Workers -= int(math.Round(f.lost * level))
	return next
}
