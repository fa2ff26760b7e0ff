package stat_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"knee/analysis/stat"
)

func TestClopperPearsonAgreesWithGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		confidence := rapid.Float64Range(0.5, 0.999).Draw(t, "confidence")
		low, high := stat.ClopperPearson(k, n, confidence)
		tail := (1 - confidence) / 2
		wantLow, wantHigh := 0.0, 1.0
		if k > 0 {
			wantLow = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
		}
		if k < n {
			wantHigh = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
		}
		if math.Abs(low-wantLow) > 1e-6 || math.Abs(high-wantHigh) > 1e-6 {
			t.Fatalf("%d of %d at %v: %v to %v, want %v to %v", k, n, confidence, low, high, wantLow, wantHigh)
		}
	})
}

// What none of n leaves open is in closed form.
func TestAtMost(t *testing.T) {
	for n, want := range map[int]float64{3: 0.6316, 29: 0.0981, 1: 0.95} {
		if got := stat.AtMost(0, n, 0.95); math.Abs(got-want) > 1e-4 || math.Abs(got-(1-math.Pow(0.05, 1/float64(n)))) > 1e-9 {
			t.Errorf("0 of %d: at most %v, want %v", n, got, want)
		}
	}
	if got := stat.AtMost(4, 4, 0.95); got != 1 {
		t.Errorf("4 of 4: at most %v, want 1", got)
	}
	if low, high := stat.ClopperPearson(0, 0, 0.95); low != 0 || high != 1 {
		t.Errorf("no trials: %v to %v, want 0 to 1", low, high)
	}
}

func TestBinomialsWantWhatIsOne(t *testing.T) {
	for name, f := range map[string]func(){
		"more than all": func() { stat.ClopperPearson(3, 2, 0.95) },
		"less than 0":   func() { stat.AtMost(-1, 2, 0.95) },
		"certainty":     func() { stat.ClopperPearson(1, 2, 1) },
		"no quantile":   func() { stat.QuantileInterval(nil, 0, 0.95) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
