package stat_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"knee/analysis/stat"
)

func TestFewRuns(t *testing.T) {
	for name, c := range map[string]struct {
		x    []float64
		want float64
	}{
		"two of each, in two runs":  {[]float64{1, 1, -1, -1}, 2.0 / 6},
		"five of each, in two runs": {[]float64{1, 1, 1, 1, 1, -1, -1, -1, -1, -1}, 2.0 / 252}, // published tables: 0.008
		"a bend":                    {[]float64{-1, -1, 1, 1, 1, -1, -1}, 0.2},
		"in turn":                   {[]float64{1, -1, 1, -1}, 1},
		"zeros are no signs":        {[]float64{1, 0, 1, 0, -1, math.NaN(), -1}, 2.0 / 6},
		"of one kind":               {[]float64{1, 1, 1}, 1},
		"nothing":                   {nil, 1},
	} {
		if got := stat.FewRuns(c.x); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Against counting all orders.
func TestFewRunsByCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 10).Draw(t, "n")
		mask := rapid.IntRange(1, 1<<n-2).Draw(t, "signs")
		runsOf := func(m int) (runs, plus int) {
			for i := range n {
				if m>>i&1 == 1 {
					plus++
				}
				if i == 0 || m>>i&1 != m>>(i-1)&1 {
					runs++
				}
			}
			return runs, plus
		}
		runs, plus := runsOf(mask)
		all, few := 0, 0
		for m := range 1 << n {
			if r, p := runsOf(m); p == plus {
				all++
				if r <= runs {
					few++
				}
			}
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(mask>>i&1)*2 - 1
		}
		if got, want := stat.FewRuns(x), float64(few)/float64(all); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v: %v, want %v", x, got, want)
		}
	})
}
