package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "pause",
		Doc:   "the whole process stands still, as under SIGSTOP: arrivals wait outside until it goes on",
		Knobs: func() any { return &pauseKnobs{Switch: on} },
		New:   newPause,
	})
}

type pauseKnobs struct {
	Switch `yaml:",inline"`
}

// pause stops the process. Nobody is refused meanwhile: what arrives waits in
// the kernel and is seen when the process goes on, all of it at once.
type pause struct{ off bool }

func newPause(s Setup, knobs any) (Fault, error) {
	k := knobs.(*pauseKnobs)
	if err := errors.Join(k.check(), noRamp(s, "pause")); err != nil {
		return nil, err
	}
	return &pause{off: k.Share == 0}, nil
}

func (f *pause) Bend(_ time.Duration, c *Conditions) time.Duration {
	c.Paused = c.Paused || !f.off
	return protection.Never
}
