package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestExponentialDistanceByHand(t *testing.T) {
	// At a rate of a billion the distribution function at x ns is 1-exp(-x).
	median := math.Ln2
	for name, test := range map[string]struct {
		gaps []float64
		want float64
	}{
		"one at the median":       {[]float64{median}, 0.5},
		"one at 0":                {[]float64{0}, 1},
		"one far away":            {[]float64{100}, 1},
		"two at the median":       {[]float64{median, median}, 0.5},
		"the quartiles, in a mix": {[]float64{-math.Log(0.25), -math.Log(0.75)}, 0.25},
	} {
		if got := exponentialDistance(test.gaps, 1e9); !near(got, test.want, 1e-12) {
			t.Errorf("%s: %v: want %v", name, got, test.want)
		}
	}
}

func TestKolmogorov(t *testing.T) {
	// Percentage points of D·(√n + 0.12 + 0.11/√n): Stephens, JASA 69 (1974), table 1A.
	for p, point := range map[float64]float64{0.15: 1.138, 0.10: 1.224, 0.05: 1.358, 0.025: 1.480, 0.01: 1.628} {
		for _, n := range []int{20, 100, 10_000} {
			root := math.Sqrt(float64(n))
			if got := kolmogorov(point/(root+0.12+0.11/root), n); !near(got, p, p/50) {
				t.Errorf("n %d: p is %v: want %v", n, got, p)
			}
		}
	}
	for d, want := range map[float64]float64{0: 1, 0.01: 1, 1: 0} {
		if got := kolmogorov(d, 100); !near(got, want, 1e-9) {
			t.Errorf("distance %v: p is %v: want %v", d, got, want)
		}
	}
	if got := kolmogorov(0.5, 0); got != 1 {
		t.Errorf("of nothing: %v", got)
	}
}

// A Poisson process passes, also when what is closer than 15 µs is sent that far
// apart; equal gaps, the same at another rate, and what comes in ticks do not.
func TestExponentialBlocks(t *testing.T) {
	const rate = 10_000.0
	random := rand.New(rand.NewPCG(1, 2))
	exponential := make([]float64, 1000*block)
	for i := range exponential {
		exponential[i] = random.ExpFloat64() * 1e9 / rate
	}
	gaps := func(of func(gap float64, i int) float64) []float64 {
		x := make([]float64, len(exponential))
		for i, gap := range exponential {
			x[i] = of(gap, i)
		}
		return x
	}
	inTicks := func(width float64) []float64 {
		now, seen, x := 0.0, 0.0, make([]float64, len(exponential))
		for i, gap := range exponential {
			now += gap
			at := max(math.Ceil(now/width)*width, seen+1000)
			x[i], seen = at-seen, at
		}
		return x
	}
	oneByOne := func(each float64) []float64 {
		now, sent, x := 0.0, 0.0, make([]float64, len(exponential))
		for i, gap := range exponential {
			now += gap
			at := max(now, sent+each)
			x[i], sent = at-sent, at
		}
		return x
	}
	for name, test := range map[string]struct {
		gaps        []float64
		least, most float64
	}{
		"exponential":         {exponential, 0.98, 1},
		"15µs for each":       {oneByOne(15_000), 0.97, 1},
		"40µs for each":       {oneByOne(40_000), 0, 0.05},
		"equal":               {gaps(func(float64, int) float64 { return 1e9 / rate }), 0, 0},
		"half of the rate":    {gaps(func(gap float64, _ int) float64 { return gap * 2 }), 0, 0.2},
		"in ticks of 1ms":     {inTicks(1e6), 0, 0.05},
		"in ticks of 100µs":   {inTicks(1e5), 0, 0.1},
		"pairs at one moment": {gaps(func(gap float64, i int) float64 { return gap * float64(i%2) * 2 }), 0, 0},
	} {
		if got := exponentialBlocks(test.gaps, rate); got < test.least || got > test.most {
			t.Errorf("%s: %.3f of the blocks pass: want %v to %v", name, got, test.least, test.most)
		}
	}
}
