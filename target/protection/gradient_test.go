package protection_test

import (
	"testing"
	"time"

	"knee/target/protection"
)

// TestGradientOverloadedFromTheStart holds that a server that never saw less than
// twice its capacity does not take its queue for the usual: pinned to three inside,
// it measures how long the work takes.
func TestGradientOverloadedFromTheStart(t *testing.T) {
	for _, rate := range []float64{4000, 20_000} {
		p := must(t, "gradient", nil)
		s := simulate(t, rate, 20*time.Second, plainly, p)
		if s.good < 1900 || s.p95 > 100*ms {
			t.Errorf("at %v/s: %.0f/s good and p95 %v, want at least 1900/s of 2000/s and 100ms at most", rate, s.good, s.p95)
		}
		if got := p.(protection.Limiter).Limit(); got < 100 || got > 250 {
			t.Errorf("at %v/s: limit %d, want a little above the 100 workers", rate, got)
		}
	}
}

// TestGradientOneKnobIsNotTheOther holds that the pin of a measurement and the
// lowest limit are set apart, which Envoy's were not.
func TestGradientOneKnobIsNotTheOther(t *testing.T) {
	p := must(t, "gradient", map[string]any{"min_limit": 100, "min_concurrency": 5})
	limit := p.(protection.Limiter)
	p.(protection.Ticker).Tick(0, protection.Load{})
	if got := limit.Limit(); got != 5 {
		t.Errorf("limit %d in a measurement, want 5", got)
	}
	for range 50 {
		p.Leave(0, &protection.Request{}, protection.End{Served: ms})
	}
	if got := limit.Limit(); got != 100 {
		t.Errorf("limit %d after it, want 100", got)
	}
}

func TestGradientKnobs(t *testing.T) {
	for knob, value := range map[string]any{
		"min_concurrency": 1001, "min_limit": 1001, "jitter": 1.1, "percentile": 1.1, "buffer": 11.0,
		"update_interval": ms - 1, "interval": ms - 1, "request_count": 0, "max_limit": 1_000_001,
	} {
		_, err := build(t, "gradient", map[string]any{knob: value})
		named(t, err, knob)
	}
}
