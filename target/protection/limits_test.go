package protection_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// varied draws work of the same mean as usual, by an exponential distribution.
func varied(r *protection.Request, rng *rand.Rand) {
	r.Work = time.Duration(50 * rng.ExpFloat64() * float64(ms))
}

// slowed is work that takes five times as long: a capacity of 400/s.
func slowed(r *protection.Request, _ *rand.Rand) { r.Work *= 5 }

// TestLimitsUnderOverload holds what the limits make of twice the capacity of 2000/s
// from the start, also those that do badly.
func TestLimitsUnderOverload(t *testing.T) {
	const declared = 2 * 50 * ms // which is the longest time without load by default
	for _, tt := range []struct {
		name      string
		draw      func(*protection.Request, *rand.Rand)
		kind      string
		knobs     map[string]any
		low, high float64       // good per second
		p95       time.Duration // at most
	}{
		{"Little: 2000/s for 100ms", varied, "limit", map[string]any{"rate": 2000.0, "time": 100 * ms}, 1950, 2050, 210 * ms},
		{"its timeout is that of the callers", varied, "aimd", map[string]any{"timeout": 250 * ms}, 1950, 2050, 210 * ms},
		{"its timeout is longer than theirs", plainly, "aimd", map[string]any{"timeout": 5 * time.Second, "max_limit": 5000}, 0, 100, 3 * time.Second},
		{"even work", plainly, "vegas", map[string]any{"max_no_load": declared}, 1950, 2050, 100 * ms},
		{"begins with a queue", plainly, "vegas", map[string]any{"max_no_load": declared, "initial": 400}, 1950, 2050, 110 * ms},
		{"work that varies looks like a queue", varied, "vegas", map[string]any{"max_no_load": declared}, 50, 500, 160 * ms},
		{"a floor of the workers", varied, "vegas", map[string]any{"max_no_load": declared, "min_limit": 100, "initial": 100}, 1950, 2050, 160 * ms},
		{"work that became slow looks like a queue", slowed, "vegas", map[string]any{"max_no_load": declared}, 20, 80, 260 * ms},
		{"a floor of the workers, slow work", slowed, "vegas", map[string]any{"max_no_load": declared, "min_limit": 100, "initial": 100}, 380, 410, 260 * ms},
		{"work that varies", varied, "gradient2", map[string]any{"max_no_load": declared}, 1950, 2050, 210 * ms},
		{"begins with a queue", plainly, "gradient2", map[string]any{"max_no_load": declared, "initial": 1000, "max_limit": 1000}, 1950, 2050, 210 * ms},
		{"begins with a queue, as upstream, and believes it", plainly, "gradient2", map[string]any{"max_no_load": time.Hour, "initial": 1000, "max_limit": 1000}, 0, 100, 600 * ms},
		{"work that became slow", slowed, "gradient2", map[string]any{"max_no_load": declared}, 60, 100, 260 * ms},
		{"work that became slow, with a floor", slowed, "gradient2", map[string]any{"max_no_load": declared, "min_limit": 100, "initial": 100}, 380, 410, 260 * ms},
	} {
		t.Run(tt.kind+": "+tt.name, func(t *testing.T) {
			p := must(t, tt.kind, tt.knobs)
			s := simulate(t, 4000, 20*time.Second, tt.draw, p)
			if s.good < tt.low || s.good > tt.high || s.p95 > tt.p95 {
				t.Errorf("%.0f/s good, p95 %v, limit %d: want %.0f to %.0f and %v at most",
					s.good, s.p95, p.(protection.Limiter).Limit(), tt.low, tt.high, tt.p95)
			}
		})
	}
}

// TestLimitKnobs holds which knobs are reported when several are wrong.
func TestLimitKnobs(t *testing.T) {
	for _, tt := range []struct {
		kind  string
		knobs map[string]any
		want  []string
	}{
		{"aimd", map[string]any{"initial": 0, "min_limit": 0, "max_limit": 0, "backoff": 0.4}, []string{"initial", "min_limit", "max_limit", "backoff"}},
		{"aimd", map[string]any{"max_limit": 19}, []string{"max_limit"}},
		{"aimd", map[string]any{"initial": 201}, []string{"initial"}},
		{"aimd", map[string]any{"initial": 19}, []string{"initial"}},
		{"aimd", map[string]any{"backoff": 1.0}, []string{"backoff"}},
		{"vegas", map[string]any{"min_limit": 21}, []string{"initial"}},
		{"vegas", map[string]any{"smoothing": 0.0, "decrease": 1.0, "probe_multiplier": 0}, []string{"smoothing", "decrease", "probe_multiplier"}},
		{"vegas", map[string]any{"smoothing": 1.1, "threshold": -1.0}, []string{"smoothing", "threshold"}},
		{"gradient2", map[string]any{"smoothing": 0.0, "long_window": 0, "tolerance": 0.9}, []string{"smoothing", "long_window", "tolerance"}},
		{"gradient2", map[string]any{"max_window": 99 * ms}, []string{"max_window"}},
		{"gradient2", map[string]any{"window": time.Duration(0), "max_window": time.Second}, []string{"max_window"}},
		{"limit", map[string]any{"limit": -1, "rate": -1.0, "time": -ms}, []string{"limit", "rate", "time"}},
		{"limit", map[string]any{"rate": 1.1e9, "time": ms}, []string{"rate"}},
		{"limit", map[string]any{"rate": 10.0}, []string{"time"}},
		{"limit", map[string]any{"time": ms}, []string{"rate"}},
		{"limit", map[string]any{"limit": 5, "time": ms}, []string{"limit"}},
	} {
		_, err := build(t, tt.kind, tt.knobs)
		got := map[string]bool{}
		for _, e := range plugin.KnobErrors(err) {
			got[e.Knob] = true
		}
		for _, knob := range tt.want {
			if !got[knob] {
				t.Errorf("%s %v: %s is not reported: %v", tt.kind, tt.knobs, knob, err)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s %v: %d knobs reported, want %d: %v", tt.kind, tt.knobs, len(got), len(tt.want), err)
		}
	}
	for _, knobs := range []map[string]any{
		{"initial": 20, "min_limit": 20, "max_limit": 20, "backoff": 0.5},
		{"window": 100 * ms, "max_window": 100 * ms},
	} {
		must(t, "aimd", knobs)
	}
}

// TestPartitionsCountOut holds that whoever leaves makes room in its share, and that
// a share of a limit costs no memory for each request, by whatever it is shared out.
func TestPartitionsCountOut(t *testing.T) {
	for by, name := range map[string]string{"tenant": "a", "criticality": "critical"} {
		for _, kind := range []string{"limit", "aimd", "vegas", "gradient2", "gradient"} {
			knobs := map[string]any{"partitions": map[string]float64{name: 0.5}, "partition_by": by}
			if kind == "limit" {
				knobs["limit"] = 20
			}
			p := must(t, kind, knobs)
			r := &protection.Request{Tenant: "a", Criticality: protection.Critical}
			used := protection.Load{Admitted: 1_000_000}
			if n := testing.AllocsPerRun(1000, func() {
				if p.Admit(0, r, used) != "" {
					t.Fatalf("%s by %s: refused, with nobody inside of its share", kind, by)
				}
				r.InFlight = 1
				p.Leave(ms, r, protection.End{Served: ms})
			}); n != 0 {
				t.Errorf("%s by %s: %v allocations a request", kind, by, n)
			}
			for p.Admit(0, r, used) == "" {
				r.InFlight++
			}
			if r.InFlight == 1 {
				t.Errorf("%s by %s: none is let in of its share", kind, by)
			}
		}
	}
}
