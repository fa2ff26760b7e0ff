package fault

import (
	"fmt"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// ramp is how far a fault has grown since it began.
type ramp struct {
	over    time.Duration // from nothing to full; 0: at once
	started bool
	began   time.Duration
}

// rampSteps is in how many steps a fault grows.
const rampSteps = 100

func newRamp(s Setup) (ramp, error) {
	if s.Ramp < 0 {
		return ramp{}, plugin.Knob("ramp", s.Ramp, "a duration of at least 0")
	}
	return ramp{over: s.Ramp}, nil
}

// begin remembers the first instant at which it is called.
func (r *ramp) begin(now time.Duration) {
	if !r.started {
		r.started, r.began = true, now
	}
}

// level returns how far the fault has grown at now, from 0 to 1, and the next
// instant at which it has grown further.
func (r *ramp) level(now time.Duration) (level float64, next time.Duration) {
	r.begin(now)
	if r.over == 0 || now-r.began >= r.over {
		return 1, protection.Never
	}
	step := max(r.over/rampSteps, 1)
	n := (now - r.began) / step
	return min(1, float64(n*step)/float64(r.over)), r.began + min((n+1)*step, r.over)
}

// noRamp refuses a ramp for what is there or not.
func noRamp(s Setup, fault string) error {
	if s.Ramp != 0 {
		return plugin.Knob("ramp", s.Ramp, fmt.Sprintf("none: a %s is there or not", fault))
	}
	return nil
}
