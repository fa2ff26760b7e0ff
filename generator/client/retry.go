package client

import (
	"errors"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[NewBehaviour]{
		Name:  "retry",
		Doc:   "sends an original again when an attempt has failed, after a backoff, as long as its deadline allows",
		Worse: "without a retry_budget behind it: under overload each failure brings more load, which can outlive its cause",
		Knobs: func() any {
			return &retryKnobs{
				MaxAttempts:    3,
				Backoff:        Backoff{Base: 25 * time.Millisecond, Cap: 250 * time.Millisecond, Jitter: jitterFull},
				On:             []string{"rejected", "timeout", "failed"},
				RetryUncertain: true,
				MaxRetryAfter:  30 * time.Second,
			}
		},
		New: newRetry,
	})
}

type retryKnobs struct {
	MaxAttempts    int           `yaml:"max_attempts" doc:"attempts in all, the first included: 1 and the repetitions; 1 to 100"`
	Backoff        Backoff       `yaml:"backoff" doc:"how long to wait before each repetition; the defaults are Envoy's"`
	On             []string      `yaml:"on" doc:"endings after which to try again: rejected, timeout and failed, or one reason or kind of them such as rejected:queue_full or failed:reset"`
	RetryUncertain bool          `yaml:"retry_uncertain" doc:"try again also when the server may have done the work: after a timeout, and when the connection broke after sending; false is for work that must not be done twice"`
	MaxRetryAfter  time.Duration `yaml:"max_retry_after" doc:"longest wait that a server may ask for by Retry-After; a longer one is cut to this; 0 does not listen to it, up to 24h"`
}

// retry repeats attempts. The wait before a repetition is that of the backoff or
// what the server asked for, whichever is longer; to the latter comes a jitter as
// long as the backoff's, so that callers told the same do not return together.
// A repetition that could not begin before the deadline is not waited for: the
// original ends at once.
type retry struct {
	retryKnobs
	on   endings
	rand *rand.Rand
}

func newRetry(s Setup, knobs any) (Behaviour, error) {
	k := knobs.(*retryKnobs)
	on, err := parseEndings("on", k.On)
	errs := []error{k.Backoff.check(), err}
	if k.MaxAttempts < 1 || k.MaxAttempts > 100 {
		errs = append(errs, plugin.Knob("max_attempts", k.MaxAttempts, "1 to 100"))
	}
	if k.MaxRetryAfter < 0 || k.MaxRetryAfter > longest {
		errs = append(errs, plugin.Knob("max_retry_after", k.MaxRetryAfter, "0 to 24h"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &retry{retryKnobs: *k, on: on, rand: s.Rand}, nil
}

func (r *retry) Before(now time.Duration, _ *Attempt) (time.Duration, string) { return now, "" }

// After leaves in the mark how many repetitions there were, and the last wait.
func (r *retry) After(now time.Duration, a *Attempt, e Answer) time.Duration {
	i := int(a.Mark.Count)
	if i+1 >= r.MaxAttempts || e.NoRetry || !r.on.has(&e) || !r.RetryUncertain && Uncertain(e) {
		return never
	}
	wait := r.Backoff.Wait(i, a.Mark.At, r.rand.Float64())
	a.Mark.Count, a.Mark.At = a.Mark.Count+1, wait
	if asked := min(e.RetryAfter, r.MaxRetryAfter); asked > 0 {
		wait = max(wait, asked+r.spread(i))
	}
	return now + wait
}

// spread returns a jitter to add to what the server asked for.
func (r *retry) spread(i int) time.Duration {
	if r.Backoff.Jitter == jitterNone {
		return 0
	}
	return time.Duration(r.rand.Float64() * float64(r.Backoff.exponential(i)))
}

// Patience is that of all attempts and of the longest waits between them.
func (r *retry) Patience(inside time.Duration) (time.Duration, int) {
	total, wait := inside, time.Duration(0)
	for i := range r.MaxAttempts - 1 {
		wait = r.Backoff.longest(i, wait)
		total = min(total+wait+inside, longest)
	}
	return total, r.MaxAttempts
}
