package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"knee/analysis/stat"
)

func TestMSER5(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 1))
	series := func(f func(i int) float64) []float64 {
		x := make([]float64, 200)
		for i := range x {
			x[i] = f(i)
		}
		return x
	}
	stepAt := func(n int) []float64 {
		return series(func(i int) float64 {
			if i < n {
				return 0
			}
			return 1
		})
	}
	for name, c := range map[string]struct {
		x     []float64
		cut   int
		valid bool
	}{
		"constant":                  {series(func(int) float64 { return 7 }), 0, true},
		"a step at 40":              {stepAt(40), 40, true},
		"a collapse, taken for one": {stepAt(80), 80, true},
		"a step at 150":             {stepAt(150), 0, false},
		"warming up":                {series(func(i int) float64 { return 1 - math.Exp(-float64(i)/20) + 0.05*source.NormFloat64() }), 50, true},
		"drifting":                  {series(func(i int) float64 { return float64(i) }), 0, false},
		"too short":                 {make([]float64, 9), 0, false},
		"nothing":                   {nil, 0, false},
	} {
		cut, valid := stat.MSER5(c.x)
		near := cut == c.cut || name == "warming up" && cut >= 45 && cut <= 100
		if valid != c.valid || !near {
			t.Errorf("%s: %d, %v; want %d, %v", name, cut, valid, c.cut, c.valid)
		}
	}
}
