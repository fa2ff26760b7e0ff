package client

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sony/gobreaker/v2"
	"pgregory.net/rapid"
)

// fails has n requests fail, one after the other, and returns how many passed.
func fails(b *Breaker, now time.Duration, n int) int {
	passed := 0
	for range n {
		if ticket, why := b.Begin(now); why == BreakerClosed {
			b.Done(now, ticket, Broke)
			passed++
		}
	}
	return passed
}

func TestBreaker(t *testing.T) {
	t.Run("the sixth failure in a row opens it", func(t *testing.T) {
		b := NewBreaker(BreakerSettings{})
		fails(b, 0, 5)
		if b.State(0) != BreakerClosed {
			t.Error("open after 5")
		}
		if n := fails(b, 0, 2); n != 1 || b.State(0) != BreakerOpen {
			t.Errorf("%d more passed, state %v: want the sixth, then open", n, b.State(0))
		}
	})
	t.Run("it is open at sixty seconds and half open a nanosecond later", func(t *testing.T) {
		b := NewBreaker(BreakerSettings{})
		fails(b, 0, 6)
		if got := b.State(time.Minute); got != BreakerOpen {
			t.Errorf("state %v at 60s", got)
		}
		if got := b.State(time.Minute + 1); got != BreakerHalfOpen {
			t.Errorf("state %v a nanosecond later", got)
		}
		probe, _ := b.Begin(time.Minute + 1)
		if _, why := b.Begin(time.Minute + 1); why != BreakerHalfOpen {
			t.Errorf("a second probe passes: %v", why)
		}
		b.Done(time.Minute+1, probe, Succeeded)
		if got := b.State(time.Minute + 1); got != BreakerClosed {
			t.Errorf("state %v after a success", got)
		}
	})
	t.Run("a probe that fails opens it again", func(t *testing.T) {
		b := NewBreaker(BreakerSettings{})
		fails(b, 0, 6)
		if n := fails(b, time.Minute+1, 3); n != 1 || b.State(2*time.Minute+1) != BreakerOpen {
			t.Errorf("%d probes passed, state %v: want one, and open for another minute", n, b.State(2*time.Minute+1))
		}
	})
	t.Run("half of twenty within ten seconds", func(t *testing.T) {
		b := NewBreaker(BreakerSettings{Interval: 10 * time.Second, BucketPeriod: time.Second, Trips: func(c BreakerCounts) bool {
			return c.Requests >= 20 && 2*c.Failures >= c.Requests
		}})
		fails(b, 0, 19)
		if b.State(0) != BreakerClosed {
			t.Error("open after 19")
		}
		fails(b, 9*time.Second, 1)
		if b.State(9*time.Second) != BreakerOpen {
			t.Error("closed after 20")
		}
	})
	t.Run("what began before it opened says nothing after", func(t *testing.T) {
		b := NewBreaker(BreakerSettings{})
		old, _ := b.Begin(0)
		fails(b, 0, 6)
		b.State(time.Minute + 1)
		b.Done(time.Minute+1, old, Succeeded)
		if got := b.State(time.Minute + 1); got != BreakerHalfOpen {
			t.Errorf("state %v after an old success", got)
		}
	})
	t.Run("time that goes back stands still", func(t *testing.T) {
		b := NewBreaker(BreakerSettings{})
		fails(b, 0, 6)
		b.State(time.Minute + 1)
		if got := b.State(time.Second); got != BreakerHalfOpen {
			t.Errorf("state %v a minute before", got)
		}
	})
}

var errBroke, errExcluded = errors.New("broke"), errors.New("excluded")

// verdictError is what the original is told for a verdict.
func verdictError(v BreakerVerdict) error {
	return map[BreakerVerdict]error{Succeeded: nil, Broke: errBroke, Excluded: errExcluded}[v]
}

func theirCounts(c gobreaker.Counts) BreakerCounts {
	return BreakerCounts{
		c.Requests, c.TotalSuccesses, c.TotalFailures, c.TotalExclusions, c.ConsecutiveSuccesses, c.ConsecutiveFailures,
	}
}

// A breakerStep is something that happens to a breaker.
type breakerStep struct {
	wait    time.Duration // before it
	begin   bool          // a request; otherwise one ends
	which   int           // of those open, modulo their number
	verdict BreakerVerdict
}

// Step by step, whatever is begun and ended and whenever, the breaker does what
// gobreaker does.
func TestBreakerIsGobreaker(t *testing.T) {
	waits := []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 1, 100 * ms, time.Second, 3 * time.Second, 7 * time.Second, time.Minute}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) breakerStep {
		return breakerStep{
			wait:    rapid.SampledFrom(waits).Draw(t, "wait"),
			begin:   rapid.Bool().Draw(t, "begin"),
			which:   rapid.IntRange(0, 100).Draw(t, "which"),
			verdict: rapid.SampledFrom([]BreakerVerdict{Broke, Broke, Broke, Broke, Succeeded, Excluded}).Draw(t, "verdict"),
		}
	}), 100, 200)
	reached := map[BreakerState]bool{}
	rapid.Check(t, func(r *rapid.T) {
		settings := BreakerSettings{
			MaxRequests:  rapid.Uint32Range(0, 3).Draw(r, "max_requests"),
			Interval:     rapid.SampledFrom([]time.Duration{0, 5 * time.Second, 10 * time.Second}).Draw(r, "interval"),
			BucketPeriod: rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(r, "bucket"),
			Timeout:      rapid.SampledFrom([]time.Duration{0, time.Second, 7 * time.Second}).Draw(r, "timeout"),
		}
		byShare := rapid.Bool().Draw(r, "by share")
		todo := steps.Draw(r, "steps")
		var fault string
		synctest.Test(t, func(*testing.T) { fault = compareBreakers(settings, byShare, todo, reached) })
		if fault != "" {
			r.Fatal(fault)
		}
	})
	if len(reached) != 3 {
		t.Errorf("states %v were reached, want all three", reached)
	}
}

// compareBreakers says where the two differ; "" when they do not.
func compareBreakers(settings BreakerSettings, byShare bool, steps []breakerStep, reached map[BreakerState]bool) string {
	theirs := gobreaker.Settings{
		MaxRequests: settings.MaxRequests, Interval: settings.Interval,
		BucketPeriod: settings.BucketPeriod, Timeout: settings.Timeout,
		IsExcluded: func(err error) bool { return errors.Is(err, errExcluded) },
	}
	if byShare {
		settings.Trips = func(c BreakerCounts) bool { return c.Requests >= 4 && 2*c.Failures >= c.Requests }
		theirs.ReadyToTrip = func(c gobreaker.Counts) bool { return c.Requests >= 4 && 2*c.TotalFailures >= c.Requests }
	}
	states := map[gobreaker.State]BreakerState{
		gobreaker.StateClosed: BreakerClosed, gobreaker.StateHalfOpen: BreakerHalfOpen, gobreaker.StateOpen: BreakerOpen,
	}
	answers := map[error]BreakerState{nil: BreakerClosed, gobreaker.ErrOpenState: BreakerOpen, gobreaker.ErrTooManyRequests: BreakerHalfOpen}
	own, other := NewBreaker(settings), gobreaker.NewTwoStepCircuitBreaker[any](theirs)
	start := time.Now()
	type request struct {
		ticket BreakerTicket
		done   func(error)
	}
	var open []request
	for i, step := range steps {
		time.Sleep(step.wait)
		switch now := time.Since(start); {
		case step.begin:
			ticket, got := own.Begin(now)
			done, err := other.Allow()
			if got != answers[err] {
				return fmt.Sprintf("step %d, %+v: %v, theirs is %v", i, step, got, err)
			}
			if err == nil {
				open = append(open, request{ticket, done})
			}
		case len(open) > 0:
			k := step.which % len(open)
			own.Done(now, open[k].ticket, step.verdict)
			open[k].done(verdictError(step.verdict))
			open = append(open[:k], open[k+1:]...)
		}
		got, want := own.State(time.Since(start)), states[other.State()]
		reached[got] = true
		if got != want {
			return fmt.Sprintf("step %d, %+v: state %v, theirs is %v", i, step, got, want)
		}
		if diff := cmp.Diff(theirCounts(other.Counts()), own.Counts()); diff != "" {
			return fmt.Sprintf("step %d, %+v: counts (-theirs +own):\n%s", i, step, diff)
		}
	}
	return ""
}
