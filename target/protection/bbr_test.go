package protection_test

import (
	"testing"
	"time"
)

// TestBBROverloadedFromTheStart holds that a server that saw nothing but overload
// gets out of it, as it does not believe its queue to be what there is without load.
func TestBBROverloadedFromTheStart(t *testing.T) {
	for _, tt := range []struct {
		name      string
		knobs     map[string]any
		low, high float64 // good per second, of 2000
	}{
		{"twice the service time is believed at most", map[string]any{"max_no_load": 100 * ms}, 1900, 2100},
		{"as the originals, which believe any time", map[string]any{"max_no_load": time.Hour}, 0, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := simulate(t, 4000, 90*time.Second, plainly, must(t, "bbr", tt.knobs))
			if s.good < tt.low || s.good > tt.high {
				t.Errorf("%.0f/s good, want %.0f to %.0f; p95 %v", s.good, tt.low, tt.high, s.p95)
			}
		})
	}
}

func TestBBRKnobs(t *testing.T) {
	for knob, value := range map[string]any{
		"window": 100*ms - 1, "buckets": 1, "threshold": 1.1, "decay": 1.0, "every": ms - 1, "min_limit": 0,
	} {
		_, err := build(t, "bbr", map[string]any{knob: value})
		named(t, err, knob)
	}
}
