package rejection

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// noisy returns trials at multiples of the capacity mu of a server whose rejections
// cost q of a success, with the noise of a shared machine: jitter, and bursts that
// last from trial to trial.
func noisy(mu, q float64, blocks int, at []float64, noise float64, source *rand.Rand) []Trial {
	const success = 1e-3
	var trials []Trial
	burst := false
	for block := range blocks {
		for _, i := range source.Perm(len(at)) {
			m := at[i]
			if burst = source.Float64() < map[bool]float64{false: 0.04, true: 0.6}[burst]; noise == 0 {
				burst = false
			}
			here := mu * (1 - math.Abs(source.NormFloat64()*noise))
			if burst {
				here *= 0.5 + 0.4*source.Float64()
			}
			load := m * mu
			good := min(load, max(0, (here-q*load)/(1-q)))
			reject := load - good
			trials = append(trials, Trial{
				Block: block, Load: load, Offered: load, Good: good, Rejected: map[string]float64{"full": reject},
				CPU: (0.02 + success*good + q*success*reject) * (1 + source.NormFloat64()*noise),
			})
		}
	}
	return trials
}

var wide = []float64{0.3, 0.5, 0.7, 1, 1.4, 1.6, 1.8, 2.5, 3, 5, 7, 10}

// The closed form: the slope tells everything.
func TestCurveWithoutNoise(t *testing.T) {
	for _, q := range []float64{0.005, 0.02, 0.1, 0.5} {
		c := FromCurve(noisy(800, q, 3, wide, 0, rand.New(rand.NewPCG(1, 1))), 800)
		if c.Verdict != Measured || !near(c.Q, q, 1e-9) || !near(c.Low, q, 1e-9) && q > resolves || !near(c.High, q, 1e-9) {
			t.Errorf("q %v: %+v", q, c)
		}
		if !near(c.Capacity, 800, 1e-6) || !near(c.Collapse, 800/q, 1e-3) {
			t.Errorf("q %v: capacity %v, collapse %v; want 800, %v", q, c.Capacity, c.Collapse, 800/q)
		}
		if want := max(0, (1-10*q)/(1-q)); !near(c.Retention(10), want, 1e-9) {
			t.Errorf("q %v: %v is left at 10x, want %v", q, c.Retention(10), want)
		}
	}
	free := FromCurve(noisy(800, 0, 3, wide, 0, rand.New(rand.NewPCG(1, 1))), 800)
	if free.Verdict != Measured || free.Q != 0 || !math.IsInf(free.Collapse, 1) || free.Lost() != 0 || free.Retention(10) != 1 {
		t.Errorf("rejections for nothing: %+v", free)
	}
}

func near(got, want, by float64) bool { return math.Abs(got-want) <= by }

// The largest cost that keeps a share at a multiple, from a table.
func TestMostFor(t *testing.T) {
	for _, c := range []struct{ keep, m, want float64 }{
		{0.9, 10, 0.0110}, {0.9, 2, 0.0909}, {0.99, 10, 0.0011}, {0.5, 5, 0.111}, {0.8, 10, 0.0217},
	} {
		q := MostFor(c.keep, c.m)
		if !near(q, c.want, 6e-4*1) {
			t.Errorf("%v at %vx: %v, want %v", c.keep, c.m, q, c.want)
		}
		if left := (&Cost{Q: q}).Retention(c.m); !near(left, c.keep, 1e-9) {
			t.Errorf("with it %v is left at %vx, want %v", left, c.m, c.keep)
		}
	}
}

func TestNoLine(t *testing.T) {
	made := func(good func(load float64) float64) []Trial {
		var trials []Trial
		for block := range 3 {
			for load := 300.0; load <= 4000; load += 200 {
				g := good(load)
				trials = append(trials, Trial{Block: block, Load: load, Offered: load, Good: g, Rejected: map[string]float64{"full": load - g}, CPU: math.NaN()})
			}
		}
		return trials
	}
	for name, c := range map[string]struct {
		trials []Trial
		why    string
	}{
		"a limit of concurrency, then of CPU": {made(func(load float64) float64 { return max(0, min(load, 600, 4000-load)) }), "no line"},
		"a fan-out":                           {made(func(load float64) float64 { return min(load, 600*math.Pow(600/max(load, 600), 2)) }), "no line"},
		"goodput that rises":                  {made(func(load float64) float64 { return min(load, 500+load/10) }), "rises past the knee"},
		"nothing past the knee":               {made(func(load float64) float64 { return min(load, 600) })[:3], "too few loads"},
		"a cliff":                             {made(func(load float64) float64 { return map[bool]float64{true: load, false: 0}[load <= 600] }), "too few loads"},
		"nothing":                             {nil, "too few loads"},
	} {
		if got := FromCurve(c.trials, 600); got.Verdict == Measured || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v, want that it says %q", name, got, c.why)
		}
	}
}

// Seven passes on a shared machine: the estimate is near, and the intervals hold the
// truth about as often as they say.
func TestOnASharedMachine(t *testing.T) {
	const runs = 40
	for _, q := range []float64{0.005, 0.02, 0.1} {
		source := rand.New(rand.NewPCG(uint64(q*1000), 9))
		curve, cpu, curveHolds, cpuHolds := 0, 0, 0, 0
		for range runs {
			trials := noisy(500+2500*source.Float64(), q, 7, []float64{0.5, 0.8, 1.5, 2, 3, 4, 5, 6, 8}, 0.03, source)
			knee := trials[0].Load
			for _, tr := range trials {
				knee = min(knee, tr.Load)
			}
			knee *= 2 // 0.5 of it is the lowest
			a, b := FromCurve(trials, knee), FromCPU(trials)
			close := max(0.005, q/10)
			if a.Verdict == Measured && near(a.Q, q, close) {
				curve++
			}
			if b.Verdict == Measured && near(b.Q, q, close) {
				cpu++
			}
			if a.Verdict == Measured && a.Low <= q && q <= a.High {
				curveHolds++
			}
			if b.Verdict == Measured && b.Low <= q && q <= b.High {
				cpuHolds++
			}
		}
		t.Logf("q %v: within 0.005 or 10%%: curve %d, CPU %d of %d; intervals hold it: %d, %d", q, curve, cpu, runs, curveHolds, cpuHolds)
		if cpu < runs*95/100 || curve < runs*85/100 {
			t.Errorf("q %v: near it %d times from the curve and %d from the CPU, of %d", q, curve, cpu, runs)
		}
		if curveHolds < runs*85/100 || cpuHolds < runs*85/100 {
			t.Errorf("q %v: the intervals hold it %d and %d times of %d", q, curveHolds, cpuHolds, runs)
		}
	}
}

// The CPU tells it where a limit of concurrency hides it from the curve, and by
// reason.
func TestCPU(t *testing.T) {
	var trials []Trial
	for block := range 3 {
		for _, load := range []float64{100, 300, 500, 900, 1500, 3000, 5000} {
			good := min(load, 600)
			early, late := (load-good)*0.3*(1+load/5000), 0.0
			if load > 600 {
				late = 20
			}
			queue := load - good - early
			trials = append(trials, Trial{
				Block: block, Load: load, Offered: load, Good: good - late, Late: late,
				Rejected: map[string]float64{"early": early, "queue": queue},
				CPU:      0.05 + 1e-3*(good-late) + 2e-3*late + 1e-5*early + 1e-4*queue,
			})
		}
	}
	c := FromCPU(trials)
	if c.Verdict != Measured || !near(c.Success, 1e-3, 1e-4) {
		t.Fatalf("%+v, want a success of 1 ms", c)
	}
	if !near(c.ByReason["early"], 0.01, 2e-3) || !near(c.ByReason["queue"], 0.1, 5e-3) {
		t.Errorf("by reason %v, want 0.01 and 0.1", c.ByReason)
	}
	if c.Q < 0.01 || c.Q > 0.1 {
		t.Errorf("together %v, want something between the two", c.Q)
	}
	if flat := FromCurve(trials, 600); flat.Verdict == Measured && flat.Q > 0.01 {
		t.Errorf("from the curve %+v, which is flat", flat)
	}
}

func TestCPUThatSaysNothing(t *testing.T) {
	of := func(good, reject, cpu float64) Trial {
		return Trial{Load: good + reject, Good: good, Rejected: map[string]float64{"full": reject}, CPU: cpu}
	}
	for name, c := range map[string]struct {
		trials []Trial
		why    string
	}{
		"nobody looked":     {[]Trial{of(1, 1, math.NaN()), of(2, 1, math.NaN())}, "is not known"},
		"nothing rejected":  {[]Trial{of(1, 0, 1), of(2, 0, 2), of(3, 0, 3), of(4, 0, 4)}, "nothing was rejected"},
		"always in a ratio": {[]Trial{of(1, 2, 1), of(2, 4, 2), of(3, 6, 3), of(4, 8, 4)}, "cannot be told apart"},
		"costs nothing":     {[]Trial{of(1, 2, 5), of(2, 9, 4), of(3, 1, 3), of(4, 8, 2)}, "cannot be told apart"},
	} {
		if got := FromCPU(c.trials); got.Verdict == Measured || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v, want that it says %q", name, got, c.why)
		}
	}
}

// Units change nothing: neither of load nor of CPU, nor the order of trials.
func TestCostHasNoUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.Float64Range(0, 0.15).Draw(t, "q")
		source := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		trials := noisy(1000, q, 3, wide, 0.02, source)
		load, cpu := rapid.Float64Range(0.01, 1000).Draw(t, "load"), rapid.Float64Range(0.01, 100).Draw(t, "cpu")
		scaled := make([]Trial, len(trials))
		for i, j := range source.Perm(len(trials)) {
			s := trials[i]
			s.Load, s.Offered, s.Good, s.CPU = s.Load*load, s.Offered*load, s.Good*load, s.CPU*cpu
			s.Rejected = map[string]float64{"full": s.Rejected["full"] * load}
			scaled[j] = s
		}
		a, b := FromCurve(trials, 1000), FromCurve(scaled, 1000*load)
		if a.Verdict != b.Verdict || !near(a.Q, b.Q, 1e-6) || !near(a.Low, b.Low, 1e-6) {
			t.Fatalf("from the curve %+v, scaled %+v", a, b)
		}
		a, b = FromCPU(trials), FromCPU(scaled)
		if a.Verdict != b.Verdict || !near(a.Q, b.Q, 1e-6) || !near(a.High, b.High, 1e-6) {
			t.Fatalf("from the CPU %+v, scaled %+v", a, b)
		}
	})
}
