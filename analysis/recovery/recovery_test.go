package recovery_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/analysis/recovery"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// TestClosedForms: recovery takes max(0, backlog - deadline*mu) / (mu - base),
// within a fifth or three windows.
func TestClosedForms(t *testing.T) {
	surge := fluid{mu: 10000, deadline: 1, base: 7000, peak: 14000, before: 5, spike: 5, after: 40}
	with := func(f fluid, change func(*fluid)) fluid { change(&f); return f }
	small := fluid{mu: 100, deadline: 5, base: 80, peak: 160, before: 50, spike: 50, after: 400}
	for name, c := range map[string]struct {
		fluid fluid
		want  float64
	}{
		"7k to 14k for 5 s":                 {surge, 3.333},
		"bounded at 3 s, never full":        {with(surge, func(f *fluid) { f.bound = 30000 }), 3.333},
		"bounded at less than the deadline": {with(surge, func(f *fluid) { f.bound = 5000 }), 0},
		"near capacity":                     {with(surge, func(f *fluid) { f.base, f.after = 9500, 120 }), 20},
		"work dropped at its deadline":      {with(surge, func(f *fluid) { f.drop = true }), 0},
		"small, unbounded":                  {small, 125},
		"small, bounded at 1500":            {with(small, func(f *fluid) { f.bound = 1500 }), 50},
		"small, bounded at 250":             {with(small, func(f *fluid) { f.bound = 250 }), 0},
		"a stall of 1 s":                    {fluid{mu: 200, deadline: 0.1, base: 100, before: 3, spike: 1, stall: true, after: 4}, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				f := c.fluid
				if seed > 0 {
					f.noise = rand.New(rand.NewPCG(seed, 4))
				}
				windows, start, end := f.run()
				r := recovery.After(windows, start, end, recovery.Options{Deadline: seconds(f.deadline)})
				if r.Verdict != recovery.Recovered {
					t.Fatalf("seed %d: %+v", seed, r)
				}
				if off := math.Abs(r.FromEnd.Seconds() - c.want); off > max(c.want/5, 3*r.Resolution.Seconds()) {
					t.Errorf("seed %d: %v after the end, want %g s: %+v", seed, r.FromEnd, c.want, r)
				}
				if r.FromStart-r.FromEnd != end-start {
					t.Errorf("seed %d: the clocks differ by %v, want %v", seed, r.FromStart-r.FromEnd, end-start)
				}
				if r.Low > r.FromEnd || r.High < r.FromEnd || r.Spikes != 1 {
					t.Errorf("seed %d: %v is outside of [%v, %v]", seed, r.FromEnd, r.Low, r.High)
				}
			}
		})
	}
}

// TestBadStates: with all attempts late, the state sustains itself when the
// base load with its retries is at least the capacity.
func TestBadStates(t *testing.T) {
	storm := fluid{mu: 10000, deadline: 1, peak: 30000, before: 5, spike: 5, after: 60}
	with := func(base float64, retries int, change func(*fluid)) fluid {
		f := storm
		f.base, f.retries = base, retries
		if change != nil {
			change(&f)
		}
		return f
	}
	for name, c := range map[string]struct {
		fluid fluid
		want  string
	}{
		"one retry, 8000 in all":        {with(4000, 1, func(f *fluid) { f.after = 250 }), recovery.Recovered},
		"the same, cut short":           {with(4000, 1, nil), recovery.Slow},
		"one retry, 10200 in all":       {with(5100, 1, nil), recovery.NotRecovered},
		"three retries, 10400 in all":   {with(2600, 3, nil), recovery.NotRecovered},
		"a budget of 0.1, 8800 in all":  {with(8000, 1, func(f *fluid) { f.peak, f.budget = 16000, 0.1; f.spike = 2 }), recovery.Recovered},
		"a budget of 0.3, 10400 in all": {with(8000, 1, func(f *fluid) { f.peak, f.budget = 16000, 0.3; f.spike = 4 }), recovery.NotRecovered},
		"near capacity, cut short":      {fluid{mu: 10000, deadline: 1, base: 9500, peak: 14000, before: 5, spike: 5, after: 15}, recovery.Slow},
	} {
		t.Run(name, func(t *testing.T) {
			windows, start, end := c.fluid.run()
			r := recovery.After(windows, start, end, recovery.Options{Deadline: seconds(c.fluid.deadline)})
			if r.Verdict != c.want {
				t.Errorf("got %+v, want %s", r, c.want)
			}
			if c.want == recovery.Slow && r.Projection <= windows[len(windows)-1].At-end {
				t.Errorf("projection %v is within the time looked at", r.Projection)
			}
		})
	}
}

func TestProjection(t *testing.T) {
	f := fluid{mu: 10000, deadline: 1, base: 9500, peak: 14000, before: 5, spike: 5, after: 15}
	windows, start, end := f.run()
	r := recovery.After(windows, start, end, recovery.Options{Deadline: time.Second})
	if got := r.Projection.Seconds(); got < 16 || got > 24 {
		t.Errorf("projection %g s, want 20 within a fifth: %+v", got, r)
	}
}

// steady are windows of 1000 requests per second with a share of good ones.
func steady(ratio func(at float64) float64, until float64) []recovery.Window {
	var windows []recovery.Window
	for at := 0.0; at < until; at += 0.2 {
		windows = append(windows, recovery.Window{
			At: seconds(math.Round(at*10) / 10), Sent: 200, Good: uint64(math.Round(200 * ratio(at))), P99: 20 * time.Millisecond,
		})
	}
	return windows
}

func TestHysteresis(t *testing.T) {
	spiked := func(after func(since float64) float64) func(float64) float64 {
		return func(at float64) float64 {
			switch {
			case at < 5-1e-9:
				return 1
			case at < 7-1e-9:
				return 0.3
			}
			return after(at - 7)
		}
	}
	for name, c := range map[string]struct {
		after func(since float64) float64
		want  float64
	}{
		"at once":                        {func(float64) float64 { return 1 }, 0},
		"a dip to 0.92 ends nothing":     {func(s float64) float64 { return map[bool]float64{true: 0.92, false: 1}[s > 2 && s < 2.5] }, 0},
		"a dip to 0.8 does":              {func(s float64) float64 { return map[bool]float64{true: 0.8, false: 1}[s > 1.9 && s < 2.5] }, 2.6},
		"0.93 does not begin anything":   {func(s float64) float64 { return map[bool]float64{true: 0.93, false: 1}[s < 2.9] }, 3},
		"the second of two recoveries":   {func(s float64) float64 { return map[bool]float64{true: 0, false: 1}[s < 1 || s > 3.9 && s < 5.9] }, 6},
		"a dip after 5 s is another day": {func(s float64) float64 { return map[bool]float64{true: 0, false: 1}[s > 5.5 && s < 6] }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := recovery.After(steady(spiked(c.after), 25), seconds(5), seconds(7), recovery.Options{Deadline: 100 * time.Millisecond})
			if r.Verdict != recovery.Recovered || math.Abs(r.FromEnd.Seconds()-c.want) > 0.21 {
				t.Errorf("got %+v, want %g s", r, c.want)
			}
			if r.Resolution != 200*time.Millisecond {
				t.Errorf("resolution %v", r.Resolution)
			}
		})
	}
}

func TestLostGoodput(t *testing.T) {
	f := func(at float64) float64 {
		if at > 4.9 && at < 8.9 {
			return 0.4
		}
		return 1
	}
	r := recovery.After(steady(f, 20), seconds(5), seconds(7), recovery.Options{Deadline: 100 * time.Millisecond})
	if want := 4 * 1000 * 0.6; math.Abs(r.Lost-want) > 1 {
		t.Errorf("lost %g, want %g", r.Lost, want)
	}
}

func TestSlowAnswersAreNotHealthy(t *testing.T) {
	windows := steady(func(float64) float64 { return 1 }, 20)
	for i := range windows {
		if at := windows[i].At; at >= seconds(5) && at < seconds(9) {
			windows[i].P99 = 80 * time.Millisecond
		}
	}
	r := recovery.After(windows, seconds(5), seconds(7), recovery.Options{Deadline: 100 * time.Millisecond})
	if r.Verdict != recovery.Recovered || r.FromEnd != seconds(2) {
		t.Errorf("got %+v, want 2 s", r)
	}
}

func TestFewRequestsMakeLongWindows(t *testing.T) {
	windows := steady(func(float64) float64 { return 1 }, 120)
	for i := range windows {
		windows[i].Sent, windows[i].Good = 10, 10
	}
	r := recovery.After(windows, seconds(5), seconds(7), recovery.Options{Deadline: 100 * time.Millisecond})
	if r.Resolution != 4*time.Second || r.Verdict != recovery.Recovered {
		t.Errorf("got %+v, want windows of 4 s", r)
	}
}

func TestInconclusive(t *testing.T) {
	one := func(float64) float64 { return 1 }
	for name, c := range map[string]struct {
		windows []recovery.Window
		options recovery.Options
	}{
		"nothing":                         {nil, recovery.Options{}},
		"nothing after":                   {steady(one, 7), recovery.Options{}},
		"unhealthy before":                {steady(func(float64) float64 { return 0.8 }, 20), recovery.Options{}},
		"worse than the baseline":         {steady(func(float64) float64 { return 0.85 }, 20), recovery.Options{Baseline: 1, BaseRate: 1000}},
		"too short after":                 {steady(one, 8), recovery.Options{Deadline: 100 * time.Millisecond}},
		"too short after, by its horizon": {steady(one, 20), recovery.Options{Deadline: 100 * time.Millisecond, Horizon: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			r := recovery.After(c.windows, seconds(5), seconds(7), c.options)
			if r.Verdict != recovery.Inconclusive || r.Why == "" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestSustained(t *testing.T) {
	for _, c := range []struct {
		options recovery.Options
		want    time.Duration
	}{
		{recovery.Options{BaseRate: 1000, Deadline: 100 * time.Millisecond}, 5 * time.Second},
		{recovery.Options{BaseRate: 100, Deadline: 100 * time.Millisecond}, 40 * time.Second},
		{recovery.Options{BaseRate: 1000, Deadline: 10 * time.Second}, 30 * time.Second},
	} {
		if got := recovery.Sustained(c.options); got != c.want {
			t.Errorf("%+v: %v, want %v", c.options, got, c.want)
		}
	}
}

func TestAnyWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := make([]recovery.Window, rapid.IntRange(0, 80).Draw(t, "n"))
		for i := range windows {
			sent := rapid.Uint64Range(0, 300).Draw(t, "sent")
			windows[i] = recovery.Window{
				At: time.Duration(i) * 200 * time.Millisecond, Sent: sent, Good: rapid.Uint64Range(0, sent).Draw(t, "good"),
				P99:      time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "p99")),
				Late:     time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "late")),
				InFlight: float64(rapid.IntRange(0, 100).Draw(t, "in flight")),
			}
		}
		start := time.Duration(rapid.IntRange(0, 10_000).Draw(t, "start")) * time.Millisecond
		r := recovery.After(windows, start, start+time.Second, recovery.Options{Deadline: time.Second})
		if r.Verdict == "" || r.Why == "" || r.FromEnd < 0 || r.Lost < 0 || math.IsNaN(r.Lost) || r.Projection < 0 {
			t.Fatalf("%+v", r)
		}
	})
}
