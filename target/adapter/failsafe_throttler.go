package adapter

import (
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivethrottler"

	"knee/target/plugin"
	"knee/target/protection"
)

// ReasonFailsafeThrottler is why failsafe_throttler refuses: it drew the lot.
const ReasonFailsafeThrottler protection.Reason = "failsafe_throttler"

func init() {
	register(plugin.Info[protection.New]{
		Name:  "failsafe_throttler",
		Doc:   "refuses at random, the more requests fail or end too late (failsafe-go's adaptive throttler)",
		Worse: "at nearly every load: it acts on requests that have failed already, averages over a minute, and lets a tenth in at least, which is too much beyond ten times capacity",
		Knobs: func() any {
			return &throttlerKnobs{FailureRate: 0.1, Executions: 0, Period: time.Minute, MaxRejection: 0.9}
		},
		New: newThrottler,
	})
}

// The defaults are the library's.
type throttlerKnobs struct {
	FailureRate  float64       `yaml:"failure_rate" doc:"share of failures that is not acted upon, at least 0, below 1; K of the SRE book is 1 / (1 - failure_rate)"`
	Executions   int           `yaml:"executions" doc:"requests that the period must hold before any is refused, at least 0"`
	Period       time.Duration `yaml:"period" doc:"time over which requests and failures are counted, at least 20ms"`
	MaxRejection float64       `yaml:"max_rejection" doc:"share to refuse at most, from 0 to 1"`
}

func (k *throttlerKnobs) check() error {
	var errs []error
	if !(k.FailureRate >= 0 && k.FailureRate < 1) { // not a number fails too
		errs = append(errs, plugin.Knob("failure_rate", k.FailureRate, "a share of at least 0, below 1"))
	}
	if k.Executions < 0 {
		errs = append(errs, plugin.Knob("executions", k.Executions, "a number of requests, at least 0"))
	}
	if k.Period < 20*time.Millisecond {
		errs = append(errs, plugin.Knob("period", k.Period, "a duration of at least 20ms"))
	}
	if !(k.MaxRejection >= 0 && k.MaxRejection <= 1) {
		errs = append(errs, plugin.Knob("max_rejection", k.MaxRejection, "a share from 0 to 1"))
	}
	return errors.Join(errs...)
}

func (k *throttlerKnobs) builder() adaptivethrottler.Builder[any] {
	return adaptivethrottler.NewBuilder[any]().
		WithFailureRateThreshold(k.FailureRate, uint(k.Executions), k.Period).
		WithMaxRejectionRate(k.MaxRejection)
}

// throttler is the client-side throttling of the SRE book, put before a server:
// with n requests let in during the period, of which s succeeded, it refuses
//
//	max(0, n - s/(1 - failure_rate)) / (n + 1), at most max_rejection
//
// Other than in the book, n does not count what the throttler itself refused, so
// that it lets in √(λ·K·A) of λ offered where A succeed, not K·A.
//
// A success is what was served by its deadline. Protected requests are let in
// without being asked about, and count.
type throttler struct {
	adaptivethrottler.AdaptiveThrottler[any]
}

func newThrottler(_ protection.Setup, knobs any) (protection.Protection, error) {
	k := knobs.(*throttlerKnobs)
	if err := k.check(); err != nil {
		return nil, err
	}
	return throttler{k.builder().Build()}, nil
}

func (p throttler) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	if !r.Protected && !p.TryAcquirePermit() {
		return ReasonFailsafeThrottler
	}
	return ""
}

func (p throttler) Leave(now time.Duration, r *protection.Request, e protection.End) {
	if succeeded(now, r, e) {
		p.RecordSuccess()
	} else {
		p.RecordFailure()
	}
}

// succeeded reports whether r was served while its caller still waited.
func succeeded(now time.Duration, r *protection.Request, e protection.End) bool {
	return e.Outcome == protection.Served && now <= r.Deadline
}
