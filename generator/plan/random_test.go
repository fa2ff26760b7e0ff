package plan

import (
	"math"
	"slices"
	"testing"
	"time"
)

// ks returns the largest distance between the sample and the exponential
// distribution of the mean, times sqrt(n). Above 1.95 the chance is 0.001.
func ks(gaps []float64, mean float64) float64 {
	slices.Sort(gaps)
	n := float64(len(gaps))
	var d float64
	for i, g := range gaps {
		f := -math.Expm1(-g / mean)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d * math.Sqrt(n)
}

func gapsOf(p *Plan) []float64 {
	var gaps []float64
	var last time.Duration
	for a := range p.All() {
		gaps = append(gaps, float64(a.At-last))
		last = a.At
	}
	return gaps
}

func TestPoissonGapsAreExponential(t *testing.T) {
	for name, c := range map[string]struct {
		rate  float64
		d     time.Duration
		share Share
	}{
		"0.1 per second":         {0.1, 24 * time.Hour, Share{0, 1}},
		"1000 per second":        {1000, 60 * time.Second, Share{0, 1}},
		"a million per second":   {1e6, 100 * time.Millisecond, Share{0, 1}},
		"a third":                {3000, 60 * time.Second, Share{1, 3}},
		"a third of few clients": {3000, 60 * time.Second, Share{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(hold(c.rate, c.d))
			s.Arrivals, s.Clients = Poisson, 300
			if name == "a third of few clients" {
				s.Clients = 3
			}
			gaps := gapsOf(mustNew(t, s).Take(c.share))
			if len(gaps) < 8000 {
				t.Fatalf("only %d gaps", len(gaps))
			}
			if got := ks(gaps, 1e9/c.rate*float64(c.share.Of)); got > 1.95 {
				t.Errorf("Kolmogorov-Smirnov statistic %.2f, want at most 1.95", got)
			}
		})
	}
}

// The statistic must see what it is there to refuse.
func TestKolmogorovSmirnovRefusesConstantGaps(t *testing.T) {
	if got := ks(gapsOf(mustNew(t, one(hold(1000, time.Second)))), 1e6); got < 10 {
		t.Errorf("statistic %.2f for equal gaps, want far above 1.95", got)
	}
	s := one(hold(1000, time.Minute))
	s.Arrivals = Poisson
	if got := ks(gapsOf(mustNew(t, s)), 1.03e6); got < 1.95 {
		t.Errorf("statistic %.2f for a mean 3%% off, want above 1.95", got)
	}
}

func TestClassesAndClientsAreDrawnByWeight(t *testing.T) {
	s := one(hold(10000, 20*time.Second))
	s.Classes, s.Clients = classes(0, 1, 0, 5, 2.5, 0), 7
	byClass, byClient := make([]float64, 6), make([]float64, 7)
	var n float64
	for a := range mustNew(t, s).All() {
		byClass[a.Class]++
		byClient[a.Client]++
		n++
	}
	// Upper 0.1% points of chi-square with 2 and with 6 degrees of freedom.
	if got := chiSquare(byClass, []float64{0, 1 / 8.5, 0, 5 / 8.5, 2.5 / 8.5, 0}, n); got > 13.8 {
		t.Errorf("classes %v: chi-square %.1f, want at most 13.8", byClass, got)
	}
	if got := chiSquare(byClient, slices.Repeat([]float64{1.0 / 7}, 7), n); got > 22.5 {
		t.Errorf("clients %v: chi-square %.1f, want at most 22.5", byClient, got)
	}
}

// chiSquare is infinite when something was drawn that has no share.
func chiSquare(counts, shares []float64, n float64) float64 {
	var sum float64
	for i, c := range counts {
		if want := shares[i] * n; c != want {
			sum += (c - want) * (c - want) / want
		}
	}
	return sum
}

// The classes of successive arrivals, and the class and client of one arrival,
// must not depend on each other.
func TestDrawsAreIndependent(t *testing.T) {
	s := one(hold(10000, 20*time.Second))
	s.Classes, s.Clients = classes(1, 1), 2
	pairs, cross := make([]float64, 4), make([]float64, 4)
	var n float64
	last := 0
	for a := range mustNew(t, s).All() {
		pairs[last*2+a.Class]++
		cross[int(a.Client)*2+a.Class]++
		last = a.Class
		n++
	}
	quarter := slices.Repeat([]float64{0.25}, 4)
	if p, c := chiSquare(pairs, quarter, n), chiSquare(cross, quarter, n); p > 16.3 || c > 16.3 {
		t.Errorf("chi-square of pairs %.1f and of client by class %.1f, want at most 16.3", p, c)
	}
}

func TestPickNeverDrawsAClassWithoutWeight(t *testing.T) {
	for _, weights := range [][]float64{{0, 1}, {1, 0}, {0, 0.1, 0, 0.7, 0}, {1e-9, 1e9, 0}} {
		picks := picksOf(classes(weights...))
		for i, w := range weights {
			var before uint64
			if i > 0 {
				before = picks[i-1]
			}
			if w == 0 && picks[i] != before {
				t.Errorf("weights %v: class %d has the numbers from %d to %d, want none", weights, i, before, picks[i])
			}
		}
		if picks[len(picks)-1] != 1<<53 {
			t.Errorf("weights %v: numbers end at %d, want 2^53", weights, picks[len(picks)-1])
		}
	}
}
