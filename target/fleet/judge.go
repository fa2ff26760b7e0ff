package fleet

import (
	"errors"
	"fmt"
	"math"
	"time"

	"knee/target/plugin"
)

// judgeKnobs say how a balancer that learns from outcomes takes them.
type judgeKnobs struct {
	Rejections string        `yaml:"rejections" doc:"what a rejection counts as: answer, as good as any, so that who refuses quickly looks free and fast; or failure; default answer"`
	Decay      time.Duration `yaml:"decay" doc:"how long outcomes are remembered: one that is as old as this weighs 37% of a new one; above 0; default 1s"`
}

// What a rejection may count as.
const (
	asAnswer  = "answer"
	asFailure = "failure"
)

func defaultJudge() any { return &judgeKnobs{Rejections: asAnswer, Decay: time.Second} }

// leastSuccess bounds the share of successes from below, so that a server which
// failed always still gets a request now and then, and can be seen to heal.
const leastSuccess = 0.01

// A judge keeps what is known of each backend: moving means of the share of
// requests that succeeded, and of the time that answers took. A failure, and a
// rejection where it counts as one, has no part in the time: it may have been
// quick because nothing was done. The means forget by time and not by number, as
// Finagle's peak EWMA does, so that a backend which gets little traffic heals as
// fast as one that gets much.
type judge struct {
	failures bool // rejections count as failures
	decay    float64
}

func newJudge(k *judgeKnobs) (judge, error) {
	var errs []error
	if k.Rejections != asAnswer && k.Rejections != asFailure {
		errs = append(errs, plugin.Knob("rejections", fmt.Sprintf("%q", k.Rejections), "answer or failure"))
	}
	if k.Decay <= 0 {
		errs = append(errs, plugin.Knob("decay", k.Decay, "a duration above 0"))
	}
	return judge{failures: k.Rejections == asFailure, decay: float64(k.Decay)}, errors.Join(errs...)
}

// Done learns from an outcome.
func (j judge) Done(now time.Duration, b *Backend, o Outcome) {
	good := !o.Failed && !(o.Rejected && j.failures)
	if !b.known {
		b.known, b.judged, b.success = true, now, 1
		b.latency = j.decay // of one that has not answered yet
		if good {
			b.latency = float64(o.Took)
		} else {
			b.success = 0
		}
		return
	}
	keep := math.Exp(-float64(now-b.judged) / j.decay)
	b.judged = now
	b.success *= keep
	if good {
		b.success += 1 - keep
		b.latency = b.latency*keep + float64(o.Took)*(1-keep)
	}
}

// load returns how busy b is: what is outstanding and the request to come, and
// more the more of its requests fail.
func (j judge) load(b *Backend) float64 {
	load := float64(b.Outstanding + 1)
	if b.known {
		load /= max(b.success, leastSuccess)
	}
	return load
}
