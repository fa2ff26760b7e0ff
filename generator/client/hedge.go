package client

import (
	"errors"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[NewBehaviour]{
		Name:  "hedge",
		Doc:   "sends an attempt again while it is not answered after a delay, takes the first success and cancels the rest",
		Worse: "when the whole server is slow and not one request: then it doubles the load; put a retry_budget behind it",
		Knobs: func() any {
			return &hedgeKnobs{Quantile: 0.95, MaxAttempts: 2, NonFatal: []string{"rejected", "timeout", "failed"}}
		},
		New: newHedge,
	})
}

type hedgeKnobs struct {
	Delay       time.Duration `yaml:"delay" doc:"how long after one attempt the next begins, up to 24h; 0 takes it from quantile"`
	Quantile    float64       `yaml:"quantile" doc:"without a delay: the share of attempts that are answered sooner, above 0 and below 1, of the latest 1000; none is sent again before 50 are known"`
	MaxAttempts int           `yaml:"max_attempts" doc:"attempts of one call in all, 1 to 5"`
	NonFatal    []string      `yaml:"non_fatal" doc:"endings after which the other attempts go on and the next one begins at once: rejected, timeout and failed, or one reason or kind of them such as rejected:queue_full; after any other the call ends"`
}

// hedge is gRPC's hedging (proposal A6): an attempt, and further ones each delay
// later, up to so many. The delay counts from when the call comes here. An ending
// that is not fatal has the next one begin at once or, if the server asked for
// it, after Retry-After; with NoRetry no further one begins. gRPC takes every
// ending for fatal unless told otherwise; here none is.
type hedge struct {
	hedgeKnobs
	nonFatal endings
	seen     *latencies
}

// maxHedges is gRPC's bound on the attempts of one call.
const maxHedges = 5

func newHedge(_ Setup, knobs any) (Behaviour, error) {
	k := *knobs.(*hedgeKnobs)
	nonFatal, err := parseEndings("non_fatal", k.NonFatal)
	errs := []error{err}
	if k.Delay < 0 || k.Delay > longest {
		errs = append(errs, plugin.Knob("delay", k.Delay, "0 (by quantile) to 24h"))
	}
	if !(k.Quantile > 0 && k.Quantile < 1) {
		errs = append(errs, plugin.Knob("quantile", k.Quantile, "above 0 and below 1"))
	}
	if k.MaxAttempts < 1 || k.MaxAttempts > maxHedges {
		errs = append(errs, plugin.Knob("max_attempts", k.MaxAttempts, "1 to 5"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &hedge{k, nonFatal, newLatencies(k.Quantile)}, nil
}

func (h *hedge) Before(now time.Duration, _ *Attempt) (time.Duration, string) { return now, "" }

// Hedge counts in the mark how many attempts there are.
func (h *hedge) Hedge(now time.Duration, a *Attempt) time.Duration {
	a.Mark.Count++
	if int(a.Mark.Count) >= h.MaxAttempts {
		return never
	}
	delay := h.Delay
	if delay == 0 {
		known := false
		if delay, known = h.seen.quantile(); !known {
			return never
		}
	}
	return now + delay
}

// After learns how long attempts take. One that was given up took at least as
// long as until then: to leave it out would make all seem faster than they are,
// and have more of them sent again.
func (h *hedge) After(now time.Duration, a *Attempt, e Answer) time.Duration {
	switch e.Result {
	case OK, TimedOut, Cancelled:
		if a.Sent != never {
			h.seen.add(now - a.Sent)
		}
	}
	if !h.nonFatal.has(&e) {
		return never
	}
	return now + e.RetryAfter
}

// Patience is that of the last attempt, which begins a delay after the one before
// or, at the latest, as that one ends.
func (h *hedge) Patience(inside time.Duration) (time.Duration, int) {
	n, gap := h.MaxAttempts, inside
	if h.Delay > 0 {
		gap = min(gap, h.Delay)
	}
	return min(time.Duration(n-1)*gap+inside, longest), n
}
