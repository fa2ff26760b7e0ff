package client

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// Reasons of attempts that a breaker kept back.
const (
	ReasonBreakerOpen = "breaker_open" // it is open
	ReasonBreakerBusy = "breaker_busy" // it is half open, and as many probes are under way as may be
)

func init() {
	Registry.Register(plugin.Info[NewBehaviour]{
		Name:  "breaker",
		Doc:   "sends nothing for a while after several failures, then a few probes (circuit breaker, as sony/gobreaker)",
		Worse: "under overload, where failures are some and not all: it takes turns between too much load and none",
		Knobs: func() any {
			return &breakerKnobs{Failures: 6, Timeout: time.Minute, MaxRequests: 1, On: []string{"rejected", "timeout", "failed"}, Per: perClient}
		},
		New: newBreaker,
	})
}

type breakerKnobs struct {
	Failures     uint32        `yaml:"failures" doc:"failures in a row that open it; 0: these do not, up to 1000000"`
	FailureShare float64       `yaml:"failure_share" doc:"share of failures among at least min_requests that opens it; 0: it does not, up to 1"`
	MinRequests  uint32        `yaml:"min_requests" doc:"of failure_share, 0 to 1000000"`
	Interval     time.Duration `yaml:"interval" doc:"how long counts are kept while it is closed; 0: until it opens, up to 24h"`
	Bucket       time.Duration `yaml:"bucket" doc:"part of the interval by which counts are forgotten; 0: all at once at its end"`
	Timeout      time.Duration `yaml:"timeout" doc:"how long it stays open, above 0 up to 24h"`
	MaxRequests  uint32        `yaml:"max_requests" doc:"probes while it is half open, and how many have to succeed in a row to close it, 1 to 1000000"`
	On           []string      `yaml:"on" doc:"endings that are failures: rejected, timeout and failed, or one reason or kind of them such as rejected:queue_full; the others are successes"`
	Per          string        `yaml:"per" doc:"whose state it is: client (every caller has its own) or all (one for the whole population)"`
}

// mostBuckets bounds the parts of an interval.
const mostBuckets = 1000

// breaker keeps attempts back by a Breaker for each caller. Attempts of which
// nothing can be said, as they were cancelled or kept back further inside, do not
// count.
type breaker struct {
	on     endings
	states states[Breaker]
}

func newBreaker(s Setup, knobs any) (Behaviour, error) {
	k := *knobs.(*breakerKnobs)
	on, err := parseEndings("on", k.On)
	errs := []error{err, k.check()}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	settings := BreakerSettings{
		MaxRequests: k.MaxRequests, Interval: k.Interval, BucketPeriod: k.Bucket, Timeout: k.Timeout,
		Trips: k.trips,
	}
	return &breaker{on, newStates(s, k.Per, func() *Breaker { return NewBreaker(settings) })}, nil
}

func (k *breakerKnobs) check() error {
	var errs []error
	if k.Failures > 1e6 {
		errs = append(errs, plugin.Knob("failures", k.Failures, "0 to 1000000"))
	}
	if !(k.FailureShare >= 0 && k.FailureShare <= 1) {
		errs = append(errs, plugin.Knob("failure_share", k.FailureShare, "0 to 1"))
	}
	if k.MinRequests > 1e6 {
		errs = append(errs, plugin.Knob("min_requests", k.MinRequests, "0 to 1000000"))
	}
	if k.Interval < 0 || k.Interval > longest {
		errs = append(errs, plugin.Knob("interval", k.Interval, "0 to 24h"))
	}
	if k.Bucket < 0 || k.Bucket > longest || k.Bucket > 0 && k.Interval/k.Bucket > mostBuckets {
		errs = append(errs, plugin.Knob("bucket", k.Bucket, "0, or at least a thousandth of the interval"))
	}
	if k.Timeout <= 0 || k.Timeout > longest {
		errs = append(errs, plugin.Knob("timeout", k.Timeout, "above 0, up to 24h"))
	}
	if k.MaxRequests < 1 || k.MaxRequests > 1e6 {
		errs = append(errs, plugin.Knob("max_requests", k.MaxRequests, "1 to 1000000"))
	}
	return errors.Join(append(errs, checkPer(k.Per))...)
}

// trips reports whether counts open the breaker.
func (k *breakerKnobs) trips(c BreakerCounts) bool {
	if k.Failures > 0 && c.ConsecutiveFailures >= k.Failures {
		return true
	}
	return k.FailureShare > 0 && c.Requests >= k.MinRequests &&
		float64(c.Failures) >= k.FailureShare*float64(c.Requests)
}

// Before leaves in the mark what Done wants to know.
func (b *breaker) Before(now time.Duration, a *Attempt) (time.Duration, string) {
	s := b.states.get(a)
	t, state := s.Begin(now)
	switch state {
	case BreakerOpen:
		return now, ReasonBreakerOpen
	case BreakerHalfOpen:
		return now, ReasonBreakerBusy
	}
	a.Mark.Count, a.Mark.At = t.Generation, time.Duration(t.Age)
	return now, ""
}

func (b *breaker) After(now time.Duration, a *Attempt, e Answer) time.Duration {
	verdict := Succeeded
	switch {
	case e.Result >= Withheld, e.Result == NotSent:
		verdict = Excluded
	case b.on.has(&e):
		verdict = Broke
	}
	b.states.get(a).Done(now, BreakerTicket{a.Mark.Count, uint64(a.Mark.At)}, verdict)
	return never
}
