package protection

import (
	"math"
	"testing"
	"time"
)

// TestDimmerLaw holds the integral law at a setpoint of 100 ms and a gain of 0.01
// for each millisecond.
func TestDimmerLaw(t *testing.T) {
	const ms = time.Millisecond
	d := &dimmer{setpoint: 100 * ms, gain: 0.01, full: 1}
	for i, tt := range []struct {
		response time.Duration
		want     float64
	}{
		{150 * ms, 0.5}, {80 * ms, 0.7}, {100 * ms, 0.7}, {time.Second, 0}, {10 * ms, 0.9}, {10 * ms, 1}, {105 * ms, 0.95},
	} {
		if d.adjust(tt.response); math.Abs(d.full-tt.want) > 1e-9 {
			t.Fatalf("look %d at %v: %v full answers, want %v", i, tt.response, d.full, tt.want)
		}
	}
}

func TestDurationsQuantile(t *testing.T) {
	s := durations{quantile: 0.95}
	if _, ok := s.take(); ok {
		t.Error("a quantile of nothing")
	}
	for i := range 100 {
		s.add(time.Duration(i+1) * time.Millisecond)
	}
	got, ok := s.take()
	if want := 95 * time.Millisecond; !ok || got < want || got > want+want/32 {
		t.Errorf("p95 of 1ms to 100ms is %v, want 95ms, or at most 1/32 more", got)
	}
	if _, ok := s.take(); ok {
		t.Error("it has not forgotten them")
	}
}
