package stat_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"knee/analysis/stat"
)

func TestQuantileInterval(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		x                  []float64
		q                  float64
		low, high, covered float64
	}{
		"six bound a median":    {[]float64{4, 1, 6, 2, 5, 3}, 0.5, 1, 6, 0.96875},
		"five do not":           {[]float64{4, 1, 2, 5, 3}, 0.5, -inf, inf, 1},
		"ten, the second":       {[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.5, 2, 9, 0.978515625},
		"one that never came":   {[]float64{1, 2, 3, 4, 5, inf}, 0.5, 1, inf, 0.96875},
		"nothing":               {nil, 0.5, -inf, inf, 1},
		"no bound above a tail": {[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9, 7, inf, 1 - 0.012795},
	} {
		low, high, covered := stat.QuantileInterval(c.x, c.q, 0.95)
		if low != c.low || high != c.high || math.Abs(covered-c.covered) > 1e-5 {
			t.Errorf("%s: %v to %v, covered %v; want %v to %v, %v", name, low, high, covered, c.low, c.high, c.covered)
		}
	}
}

// The interval covers what it says, by gonum's binomial distribution.
func TestQuantileIntervalCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		q := rapid.Float64Range(0.01, 0.99).Draw(t, "q")
		confidence := rapid.Float64Range(0.5, 0.99).Draw(t, "confidence")
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i + 1)
		}
		low, high, covered := stat.QuantileInterval(x, q, confidence)
		b := distuv.Binomial{N: float64(n), P: q}
		want := 1.0
		if !math.IsInf(low, -1) {
			want -= b.CDF(low - 1)
		}
		if !math.IsInf(high, 1) {
			want -= 1 - b.CDF(high-1)
		}
		if covered < confidence-1e-9 || math.Abs(covered-want) > 1e-6 {
			t.Fatalf("%d values, quantile %v: %v to %v covers %v, said to be %v, asked for %v", n, q, low, high, want, covered, confidence)
		}
	})
}
