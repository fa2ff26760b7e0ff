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

// A judge keeps what is known of each backend: the share of requests that
// succeeded, and how long answers took. A failure, and a rejection where it
// counts as one, has no part in the time: it may have been quick because nothing
// was done. What is known is forgotten by time and not by number, as in Finagle's
// peak EWMA: of a backend that gets no requests, failures and latency fade, so
// that it is tried again after a few times the decay.
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

// Of successes, a judge remembers at most so many outcomes, beside a belief in
// success that weighs as much as a hundredth of one: who was never heard of is
// believed to be well, and who fails a hundred times is tried again almost as
// soon as who fails once.
const (
	memory = 100
	belief = 0.01
)

// remember returns the share of what was known of b that is still known at now.
func (j judge) remember(now time.Duration, b *Backend) float64 {
	return math.Exp(-float64(now-b.judged) / j.decay)
}

// Done learns from an outcome.
func (j judge) Done(now time.Duration, b *Backend, o Outcome) {
	good := !o.Failed && !(o.Rejected && j.failures)
	keep := j.remember(now, b)
	b.judged = now
	b.outcomes, b.successes = b.outcomes*keep+1, b.successes*keep
	if good {
		b.successes++
	}
	if over := b.outcomes / memory; over > 1 {
		b.outcomes, b.successes = memory, b.successes/over
	}
	switch {
	case !good && !b.known:
		b.latency = j.decay // of one that has not answered yet
	case good && !b.known:
		b.latency = float64(o.Took)
	case good:
		b.latency = b.latency*keep + float64(o.Took)*(1-keep)
	}
	b.known = true
}

// load returns how busy b is: what is outstanding and the request to come, and
// more the more of its requests fail.
func (j judge) load(now time.Duration, b *Backend) float64 {
	known := b.outcomes * j.remember(now, b)
	failures := known
	if b.outcomes > 0 {
		failures *= 1 - b.successes/b.outcomes
	}
	return float64(b.Outstanding+1) * (known + belief) / (known - failures + belief)
}
