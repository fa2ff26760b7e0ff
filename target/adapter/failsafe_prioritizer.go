package adapter

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/priority"

	"knee/target/plugin"
	"knee/target/protection"
)

// ReasonFailsafePrioritizer is why failsafe_prioritizer refuses: the level of the
// request is below its threshold.
const ReasonFailsafePrioritizer protection.Reason = "failsafe_prioritizer"

func init() {
	register(plugin.Info[protection.New]{
		Name:  "failsafe_prioritizer",
		Doc:   "refuses the least critical first, the more requests fail or end too late (failsafe-go's prioritizer on its adaptive throttler)",
		Worse: "at nearly every load, as failsafe_throttler; and it goes by the levels of what it let in, so that the threshold wanders",
		Knobs: func() any {
			return &prioritizerKnobs{FailureRate: 0.1, Executions: 0, Period: time.Minute, MaxRejection: 0.9, Calibrate: 500 * time.Millisecond}
		},
		New: newPrioritizer,
	})
}

// The defaults are the library's, but for calibrate, which it leaves to its callers.
type prioritizerKnobs struct {
	FailureRate  float64       `yaml:"failure_rate" doc:"share of failures that is not acted upon, at least 0, below 1"`
	Executions   int           `yaml:"executions" doc:"requests that the period must hold before any is refused, at least 0"`
	Period       time.Duration `yaml:"period" doc:"time over which requests and failures are counted, at least 20ms"`
	MaxRejection float64       `yaml:"max_rejection" doc:"share to refuse at most, from 0 to 1; what is left is let in at random, whatever its level"`
	Calibrate    time.Duration `yaml:"calibrate" doc:"time between two settings of the threshold, at least 1ms"`
}

// prioritizer gives each request a level, drawn from the hundred of its
// criticality. At each calibration the threshold becomes that quantile of the
// last 1,000 levels let in which is the share that a throttler would refuse.
//
// The library's other prioritizer, that of its limiter, goes by the requests that
// block in the limiter. Here they wait in the server's queue, so it would see none.
type prioritizer struct {
	adaptivethrottler.PriorityThrottler[any]
	threshold priority.Prioritizer
	calibrate time.Duration
	rand      *rand.Rand
	last      time.Duration
}

// priorities are the library's of each criticality. It has five; medium is left out.
var priorities = [...]priority.Priority{
	protection.Sheddable:     priority.VeryLow,
	protection.SheddablePlus: priority.Low,
	protection.Critical:      priority.High,
	protection.CriticalPlus:  priority.VeryHigh,
}

func newPrioritizer(s protection.Setup, knobs any) (protection.Protection, error) {
	k := knobs.(*prioritizerKnobs)
	t := throttlerKnobs{k.FailureRate, k.Executions, k.Period, k.MaxRejection}
	err := t.check()
	if k.Calibrate < time.Millisecond {
		err = errors.Join(err, plugin.Knob("calibrate", k.Calibrate, "a duration of at least 1ms"))
	}
	if err != nil {
		return nil, err
	}
	threshold := adaptivethrottler.NewPrioritizer()
	return &prioritizer{
		PriorityThrottler: t.builder().BuildPrioritized(threshold),
		threshold:         threshold,
		calibrate:         k.Calibrate,
		rand:              s.Rand,
	}, nil
}

// Needs implements protection.Knower.
func (*prioritizer) Needs() string { return "the criticality" }

// Tick implements protection.Ticker.
func (p *prioritizer) Tick(now time.Duration, _ protection.Load) time.Duration {
	p.last = max(p.last, now)
	p.threshold.Calibrate()
	return p.last + p.calibrate
}

func (p *prioritizer) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	if !r.Protected && !p.TryAcquirePermitWithLevel(p.level(r)) {
		return ReasonFailsafePrioritizer
	}
	return ""
}

// level draws the level of r.
func (p *prioritizer) level(r *protection.Request) int {
	of := priorities[min(r.Criticality, protection.CriticalPlus)]
	return of.MinLevel() + p.rand.IntN(of.MaxLevel()-of.MinLevel()+1)
}

func (p *prioritizer) Leave(now time.Duration, r *protection.Request, e protection.End) {
	if succeeded(now, r, e) {
		p.RecordSuccess()
	} else {
		p.RecordFailure()
	}
}
