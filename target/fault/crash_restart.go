package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name: "crash_restart",
		Doc:  "the process dies with all that is in it, and starts again cold: slow at first",
		Knobs: func() any {
			return &crashRestartKnobs{Switch: on, Down: time.Second, ColdFactor: 3, WarmUp: 5 * time.Second}
		},
		New: newCrashRestart,
	})
}

type crashRestartKnobs struct {
	Switch     `yaml:",inline"`
	Down       time.Duration `yaml:"down" doc:"how long nobody answers; at least 0"`
	ColdFactor float64       `yaml:"cold_factor" doc:"how many times as long work takes right after the restart; at least 1, up to 1e6"`
	WarmUp     time.Duration `yaml:"warm_up" doc:"how long it takes until work takes no longer than usual, linearly; at least 0"`
}

// crashRestart kills the server: what is inside is lost, and what the
// protections have learned. After the restart its caches are cold, so work takes
// cold_factor times as long at first and less and less until warm_up is over.
type crashRestart struct {
	knobs crashRestartKnobs
	ramp  // of the warming up
}

func newCrashRestart(s Setup, knobs any) (Fault, error) {
	k := knobs.(*crashRestartKnobs)
	errs := []error{k.check(), noRamp(s, "crash")}
	if k.Down < 0 {
		errs = append(errs, plugin.Knob("down", k.Down, "a duration of at least 0"))
	}
	if !(k.ColdFactor >= 1 && k.ColdFactor <= 1e6) {
		errs = append(errs, plugin.Knob("cold_factor", k.ColdFactor, "a factor from 1 to 1e6"))
	}
	if k.WarmUp < 0 {
		errs = append(errs, plugin.Knob("warm_up", k.WarmUp, "a duration of at least 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &crashRestart{knobs: *k, ramp: ramp{over: k.WarmUp}}, nil
}

func (f *crashRestart) Bend(now time.Duration, c *Conditions) (next time.Duration) {
	if f.knobs.Share == 0 {
		return protection.Never
	}
	f.begin(now)
	c.Crashes++
	restart := f.began + f.knobs.Down
	if now < restart {
		c.Down = true
		return restart
	}
	warm := ramp{over: f.over, started: true, began: restart}
	level, next := warm.level(now)
	c.WorkFactor *= 1 + (f.knobs.ColdFactor-1)*(1-level)
	return next
}
