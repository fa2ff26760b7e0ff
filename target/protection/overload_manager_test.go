package protection_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"knee/target/protection"
)

// pressed returns a load whose queue of 1,000 is under so much pressure, in thousandths.
func pressed(thousandths int) protection.Load {
	return protection.Load{Waiting: thousandths, Running: 10, Admitted: thousandths + 10, Workers: 10, QueuedCost: float64(thousandths), CostRate: 1e6}
}

// manager returns an overload manager that looks at a queue of 1,000 alone and
// does nothing but what the knobs say.
func manager(t *testing.T, knobs map[string]any) protection.Protection {
	t.Helper()
	all := map[string]any{
		"wait": time.Duration(0), "queue": 1000,
		"stop.threshold": 0.0, "reject.scaling": 0.0, "reject.saturation": 0.0,
	}
	for k, v := range knobs {
		all[k] = v
	}
	return must(t, "overload_manager", all)
}

// shareOf returns the share of many requests at a pressure for which what holds.
func shareOf(p protection.Protection, thousandths int, what func(reason protection.Reason, r *protection.Request) bool) float64 {
	const n = 20_000
	p.(protection.Ticker).Tick(0, pressed(thousandths))
	count := 0.0
	for range n {
		r := &protection.Request{Cost: 1, Deadline: protection.Never, Expires: protection.Never}
		if what(p.Admit(0, r, protection.Load{}), r) {
			count++
		}
	}
	return count / n
}

// TestOverloadTriggers holds the states that triggers make of a pressure, as the
// share refused.
func TestOverloadTriggers(t *testing.T) {
	threshold := map[string]any{"reject.threshold": 0.9}
	scaled := map[string]any{"reject.scaling": 0.5, "reject.saturation": 0.8} // the fixture of Envoy's tests
	both := map[string]any{"reject.threshold": 0.6, "reject.scaling": 0.5, "reject.saturation": 0.8}
	stop := map[string]any{"stop.threshold": 0.98}
	for _, tt := range []struct {
		name     string
		knobs    map[string]any
		pressure int // thousandths
		want     float64
	}{
		{"threshold, below", threshold, 899, 0},
		{"threshold, at it", threshold, 900, 1},
		{"scaled, below", scaled, 400, 0},
		{"scaled, at scaling", scaled, 500, 0},
		{"scaled, a third of the way", scaled, 600, 1.0 / 3},
		{"scaled, two thirds of the way", scaled, 700, 2.0 / 3},
		{"scaled, at saturation", scaled, 800, 1},
		{"scaled, above", scaled, 5000, 1},
		{"the higher of two, below the threshold", both, 590, 0.3},
		{"the higher of two, at the threshold", both, 600, 1},
		{"stop, below", stop, 979, 0},
		{"stop, at it", stop, 980, 1},
		{"nothing set", nil, 5000, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := shareOf(manager(t, tt.knobs), tt.pressure, func(reason protection.Reason, _ *protection.Request) bool { return reason != "" })
			if math.Abs(got-tt.want) > 0.015 {
				t.Errorf("refuses %.3f at a pressure of %d/1000, want %.3f", got, tt.pressure, tt.want)
			}
		})
	}
}

func TestOverloadReasons(t *testing.T) {
	p := manager(t, map[string]any{"stop.threshold": 0.9, "reject.threshold": 0.8})
	for pressure, want := range map[int]protection.Reason{700: "", 800: protection.ReasonOverloadReject, 900: protection.ReasonOverloadStop} {
		if got := shareOf(p, pressure, func(reason protection.Reason, _ *protection.Request) bool { return reason == want }); got != 1 {
			t.Errorf("at %d/1000, %.3f have reason %q, want all", pressure, got, want)
		}
	}
}

// TestOverloadTimeouts holds Envoy's scaled timers: min + (max - min) · (1 - state),
// for a request whose deadline is 600 s away.
func TestOverloadTimeouts(t *testing.T) {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	knobs := func(more map[string]any) map[string]any {
		more["reduce_timeouts.scaling"], more["reduce_timeouts.saturation"] = 0.85, 0.95
		return more
	}
	fixed, share := knobs(map[string]any{"min_timeout": 2 * time.Second}), knobs(map[string]any{"min_timeout_scale": 0.1})
	for _, tt := range []struct {
		name     string
		knobs    map[string]any
		pressure int
		want     time.Duration
	}{
		{"2s", fixed, 860, seconds(540.2)},
		{"2s", fixed, 900, seconds(301)},
		{"2s", fixed, 920, seconds(181.4)},
		{"2s", fixed, 950, seconds(2)},
		{"2s", fixed, 1000, seconds(2)},
		{"2s", fixed, 850, protection.Never},
		{"10%", share, 860, seconds(546)},
		{"10%", share, 920, seconds(222)},
		{"10%", share, 950, seconds(60)},
		{"no min", knobs(map[string]any{}), 900, seconds(300)},
		{"a min that is longer than what is left", knobs(map[string]any{"min_timeout": time.Hour}), 900, seconds(600)},
	} {
		t.Run(fmt.Sprint(tt.name, tt.pressure), func(t *testing.T) {
			p := manager(t, tt.knobs)
			p.(protection.Ticker).Tick(0, pressed(tt.pressure))
			const now = 5 * time.Second
			r := &protection.Request{Deadline: now + 600*time.Second, Expires: protection.Never}
			if reason := p.Admit(now, r, protection.Load{}); reason != "" {
				t.Fatalf("refused: %s", reason)
			}
			got := r.Expires
			if got != protection.Never {
				got -= now
			}
			if d := got - tt.want; d < -time.Microsecond || d > time.Microsecond {
				t.Errorf("may wait for %v, want %v", got, tt.want)
			}
			if got != protection.Never && r.ExpiresBy != protection.ReasonOverloadTimeout {
				t.Errorf("expires by %q", r.ExpiresBy)
			}
		})
	}
}

func TestOverloadTimeoutsTightenOnly(t *testing.T) {
	p := manager(t, map[string]any{"reduce_timeouts.threshold": 0.5, "min_timeout": time.Second})
	p.(protection.Ticker).Tick(0, pressed(500))
	r := &protection.Request{Deadline: time.Minute, Expires: 300 * ms, ExpiresBy: "earlier"}
	p.Admit(0, r, protection.Load{})
	if r.Expires != 300*ms || r.ExpiresBy != "earlier" {
		t.Errorf("expires at %v by %q, want as before", r.Expires, r.ExpiresBy)
	}
	endless := &protection.Request{Deadline: protection.Never, Expires: protection.Never}
	p.Admit(0, endless, protection.Load{})
	if endless.Expires != protection.Never {
		t.Errorf("a request without deadline expires at %v", endless.Expires)
	}
}

func TestOverloadDegrades(t *testing.T) {
	p := manager(t, map[string]any{"degrade.scaling": 0.5, "degrade.saturation": 1.0})
	for pressure, want := range map[int]float64{500: 0, 750: 0.5, 1000: 1} {
		got := shareOf(p, pressure, func(reason protection.Reason, r *protection.Request) bool { return reason == "" && r.Degraded })
		if math.Abs(got-want) > 0.015 {
			t.Errorf("degrades %.3f at %d/1000, want %.1f", got, pressure, want)
		}
	}
}

// TestOverloadPressure holds that the pressure is that of the most pressed resource
// that is looked at.
func TestOverloadPressure(t *testing.T) {
	l := protection.Load{Waiting: 20, Running: 8, Admitted: 30, Workers: 10, QueuedCost: 40, CostRate: 1000}
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		want  float64
	}{
		{"a queue of 100", map[string]any{"queue": 100}, 0.2},
		{"60 inside", map[string]any{"in_flight": 60}, 0.5},
		{"40ms of 100ms", map[string]any{"wait": 100 * ms}, 0.4},
		{"workers", map[string]any{"workers": 1.0}, 0.8},
		{"workers, of which no more than nine tenths should be busy", map[string]any{"workers": 0.9}, 8.0 / 9},
		{"the highest of several", map[string]any{"queue": 100, "in_flight": 60, "wait": 100 * ms}, 0.5},
		{"no more than 1", map[string]any{"queue": 10}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			knobs := map[string]any{"queue": 0, "reject.scaling": 0.0, "reject.saturation": 1.0}
			for k, v := range tt.knobs {
				knobs[k] = v
			}
			p := manager(t, knobs)
			p.(protection.Ticker).Tick(0, l)
			if got := refuses(p); math.Abs(got-tt.want) > 0.015 {
				t.Errorf("pressure %.3f, want %.3f", got, tt.want)
			}
		})
	}
}

// TestOverloadLooksOnceARefresh holds that nothing changes between two looks.
func TestOverloadLooksOnceARefresh(t *testing.T) {
	p := manager(t, map[string]any{"stop.threshold": 0.5})
	ticker := p.(protection.Ticker)
	if next := ticker.Tick(0, pressed(0)); next != time.Second {
		t.Errorf("looks again at %v, want 1s", next)
	}
	full := pressed(5000)
	if p.Admit(999*ms, &protection.Request{}, full) != "" {
		t.Error("it acts on what it has not looked at")
	}
	ticker.Tick(time.Second, full)
	if p.Admit(time.Second, &protection.Request{}, pressed(0)) == "" {
		t.Error("it forgets what it has looked at")
	}
}

func TestOverloadKnobs(t *testing.T) {
	for _, tt := range []struct {
		knobs map[string]any
		knob  string
	}{
		{map[string]any{"wait": time.Duration(0)}, "wait"},
		{map[string]any{"reject.saturation": 0.4}, "reject.saturation"},
		{map[string]any{"reject.saturation": 0.0}, "reject.saturation"},
		{map[string]any{"degrade.threshold": 1.1}, "degrade.threshold"},
		{map[string]any{"workers": 1.5}, "workers"},
		{map[string]any{"min_timeout": time.Second, "min_timeout_scale": 0.1}, "min_timeout_scale"},
	} {
		t.Run(fmt.Sprint(tt.knobs), func(t *testing.T) {
			_, err := build(t, "overload_manager", tt.knobs)
			named(t, err, tt.knob)
		})
	}
}

// TestOverloadNeeds holds that only shortened timeouts need the request to have
// been read.
func TestOverloadNeeds(t *testing.T) {
	for want, knobs := range map[string]map[string]any{"": nil, "the deadline": {"reduce_timeouts.threshold": 0.5}} {
		if got := must(t, "overload_manager", knobs).(protection.Knower).Needs(); got != want {
			t.Errorf("needs %q, want %q", got, want)
		}
	}
}
