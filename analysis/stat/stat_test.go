package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gonum "gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"knee/analysis/stat"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{3, 1}, 2},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		before := slices.Clone(c.x)
		if got := stat.Median(c.x); got != c.want {
			t.Errorf("median of %v is %g, want %g", c.x, got, c.want)
		}
		if !slices.Equal(before, c.x) {
			t.Errorf("%v became %v", before, c.x)
		}
	}
	if !math.IsNaN(stat.Median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestMedianAgreesWithGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 40).Draw(t, "x")
		s := slices.Sorted(slices.Values(x))
		// gonum's empirical quantiles bracket the median.
		low, high := gonum.Quantile(0.5, gonum.Empirical, s, nil), s[len(s)/2]
		if m := stat.Median(x); m < low || m > high {
			t.Fatalf("median %g, want it in [%g, %g]", m, low, high)
		}
	})
}

// TestTheilSenByHand follows Sen's interval step by step.
func TestTheilSenByHand(t *testing.T) {
	x := []float64{0, 1, 2, 3, 4, 5, 6}
	y := []float64{0, 2, 1, 4, 3, 6, 5}
	var slopes []float64
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i]))
		}
	}
	slices.Sort(slopes)
	// Kendall's variance 7*6*19/18 = 44.33; C = 1.96*6.658 = 13.05; the ranks
	// are (21-13.05)/2 = 3.97 and (21+13.05)/2 = 17.03, widened to whole ones.
	want := stat.Slope{Value: slopes[10], Low: slopes[2], High: slopes[18]}
	if got := stat.TheilSen(x, y); got != want {
		t.Errorf("got %+v, want %+v of %v", got, want, slopes)
	}
}

func TestTheilSenResists(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x, y []float64
	for i := range 40 {
		x, y = append(x, float64(i)), append(y, 3+0.5*float64(i)+0.1*r.NormFloat64())
		if i >= 34 {
			y[i] += 1000
		}
	}
	if s := stat.TheilSen(x, y); math.Abs(s.Value-0.5) > 0.1 {
		t.Errorf("with six outliers at the end the slope is %+v, want 0.5", s)
	}
	if _, slope := gonum.LinearRegression(x, y, nil, false); math.Abs(slope-0.5) < 1 {
		t.Error("least squares resists too: the case tests nothing")
	}
}

func TestTheilSenCovers(t *testing.T) {
	for name, n := range map[string]int{"few": 8, "many": 25} {
		t.Run(name, func(t *testing.T) {
			const runs = 2000
			covered := 0
			r := rand.New(rand.NewPCG(3, 4))
			for range runs {
				x, y := make([]float64, n), make([]float64, n)
				for i := range x {
					x[i] = float64(i)
					y[i] = -2*x[i] + r.ExpFloat64()
				}
				if s := stat.TheilSen(x, y); s.Low <= -2 && -2 <= s.High {
					covered++
				}
			}
			if share := float64(covered) / runs; share < 0.94 || share > 0.995 {
				t.Errorf("the 95 %% interval covers %.3f", share)
			}
		})
	}
}

func TestTheilSenOfLittle(t *testing.T) {
	if s := stat.TheilSen(nil, nil); !math.IsNaN(s.Value) {
		t.Errorf("slope of nothing: %+v", s)
	}
	if s := stat.TheilSen([]float64{1, 1}, []float64{0, 5}); !math.IsNaN(s.Value) {
		t.Errorf("slope of a vertical line: %+v", s)
	}
	if s := stat.TheilSen([]float64{0, 1}, []float64{0, 5}); s.Value != 5 || !math.IsInf(s.Low, -1) || !math.IsInf(s.High, 1) {
		t.Errorf("slope of two points: %+v", s)
	}
	flat := stat.TheilSen([]float64{0, 1, 2, 3, 4, 5, 6, 7}, make([]float64, 8))
	if flat != (stat.Slope{}) {
		t.Errorf("slope of a constant: %+v", flat)
	}
}

// TestEProcessUnanimous: the numbers of unanimous trials of the specification.
func TestEProcessUnanimous(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		want  int
	}{{0.05, 7}, {0.025, 8}, {0.01, 10}, {0.01 / 6, 14}, {0.001, 15}} {
		var good, bad stat.EProcess
		n := 0
		for ; !good.IsGood(c.alpha); n++ {
			good.Add(true)
			bad.Add(false)
		}
		if n != c.want || !bad.IsBad(c.alpha) || good.IsBad(c.alpha) || bad.IsGood(c.alpha) || good.Trials != n {
			t.Errorf("alpha %g took %d trials, want %d: %+v %+v", c.alpha, n, c.want, good, bad)
		}
	}
}

// TestEProcessHolds: however often one looks, a fair coin is called good or bad
// in at most a share alpha of the runs each.
func TestEProcessHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const runs, alpha = 5000, 0.05
	good, bad := 0, 0
	for range runs {
		var e stat.EProcess
		wasGood, wasBad := false, false
		for range 200 {
			e.Add(r.IntN(2) == 0)
			wasGood, wasBad = wasGood || e.IsGood(alpha), wasBad || e.IsBad(alpha)
		}
		if wasGood {
			good++
		}
		if wasBad {
			bad++
		}
	}
	if good > runs*alpha || bad > runs*alpha {
		t.Errorf("of %d runs %d were called good and %d bad, want at most %g each", runs, good, bad, runs*alpha)
	}
	var none stat.EProcess
	if none.IsGood(0.05) || none.IsBad(0.05) {
		t.Error("no trials decide something")
	}
}

// queue returns the number in flight every 200 ms at a load of rate on mu, both
// per second, with random arrivals and service; bound limits it if above 0.
func queue(r *rand.Rand, rate, mu, bound float64, samples int) []float64 {
	var out []float64
	n := 0.0
	for i := 0; len(out) < samples; i++ {
		const dt = 0.2 / 200
		if r.Float64() < rate*dt && (bound == 0 || n < bound) {
			n++
		}
		if n > 0 && r.Float64() < mu*dt {
			n--
		}
		if i%200 == 199 && i >= 1000 {
			out = append(out, n)
		}
	}
	return out
}

func TestGrowing(t *testing.T) {
	for name, c := range map[string]struct {
		rate, mu, bound float64
		samples         int
		low, high       float64 // share of trials that grow
	}{
		"far below":          {50, 200, 0, 15, 0, 0.01},
		"below":              {150, 200, 0, 15, 0, 0.02},
		"close below":        {190, 200, 0, 15, 0, 0.25},
		"close below, long":  {190, 200, 0, 100, 0, 0.06},
		"slightly too much":  {210, 200, 0, 100, 0.5, 1},
		"too much":           {240, 200, 0, 15, 0.8, 1},
		"far too much":       {400, 200, 0, 8, 0.99, 1},
		"too much, bounded":  {400, 200, 40, 15, 0, 0.02},
		"too much but short": {400, 200, 0, 5, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 200
			grew := 0
			for seed := range uint64(runs) {
				in := queue(rand.New(rand.NewPCG(seed, 9)), c.rate, c.mu, c.bound, c.samples)
				g, slope, low := stat.Growing(in, 200*time.Millisecond)
				if g {
					grew++
				}
				if g && (low <= 0 || slope < low) {
					t.Fatalf("grows by %g, at least %g", slope, low)
				}
			}
			if share := float64(grew) / runs; share < c.low || share > c.high {
				t.Errorf("%.3f grow, want it in [%g, %g]", share, c.low, c.high)
			}
		})
	}
}

func TestGrowingSlope(t *testing.T) {
	in := make([]float64, 20)
	for i := range in {
		in[i] = 10 + 4*float64(i) // 20 per second
	}
	g, slope, low := stat.Growing(in, 200*time.Millisecond)
	if !g || math.Abs(slope-20) > 1e-9 || math.Abs(low-20) > 1e-9 {
		t.Errorf("got %v, %g, %g, want true, 20, 20", g, slope, low)
	}
	for i := range in {
		in[i] = 1000 + 0.2*float64(i) // sure, but a trifle
	}
	if g, _, _ := stat.Growing(in, 200*time.Millisecond); g {
		t.Error("a rise of 4 in 1000 counts as growing")
	}
}

// Many points are thinned: the slope stays, and the cost is bounded.
func TestTheilSenOfManyPoints(t *testing.T) {
	const n = 200_000
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i)
		y[i] = 3*x[i] + float64(i%7)
	}
	s := stat.TheilSen(x, y)
	if math.Abs(s.Value-3) > 1e-3 || s.Low > s.Value || s.High < s.Value {
		t.Errorf("slope %+v, want 3 within its interval", s)
	}
}
