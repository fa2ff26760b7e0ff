package usl_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"knee/analysis/usl"
)

func points(f usl.Fit, noise func() float64) []usl.Point {
	var all []usl.Point
	for _, n := range []float64{1, 2, 4, 8, 16, 32, 64, 128} {
		all = append(all, usl.Point{N: n, X: f.At(n) * noise()})
	}
	return all
}

func exact() float64 { return 1 }

// The case of the analysis: one caller gets 100/s, the peak is at 44.
func TestKnownPeak(t *testing.T) {
	f, err := usl.Of(points(usl.Fit{Gamma: 100, Sigma: 0.02, Kappa: 0.0005}, exact))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(f.Gamma-100) > 1e-6 || math.Abs(f.Sigma-0.02) > 1e-9 || math.Abs(f.Kappa-0.0005) > 1e-9 {
		t.Errorf("%+v, want 100, 0.02, 0.0005", f)
	}
	if want := math.Sqrt(0.98 / 0.0005); math.Abs(f.PeakN-want) > 1e-3 {
		t.Errorf("the peak is at %v, want %v", f.PeakN, want)
	}
	if f.RMS > 1e-9 || len(f.Residuals) != 8 {
		t.Errorf("%d residuals, of %v: want 8 of 0", len(f.Residuals), f.RMS)
	}
}

func TestAnyLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := usl.Fit{
			Gamma: math.Exp(rapid.Float64Range(-3, 10).Draw(t, "log gamma")),
			Sigma: rapid.SampledFrom([]float64{0, 0.001, 0.05, 0.5, 1}).Draw(t, "sigma"),
			Kappa: rapid.SampledFrom([]float64{0, 1e-5, 1e-3, 0.05}).Draw(t, "kappa"),
		}
		f, err := usl.Of(points(want, exact))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(f.Gamma/want.Gamma-1) > 1e-6 || math.Abs(f.Sigma-want.Sigma) > 1e-6 || math.Abs(f.Kappa-want.Kappa) > 1e-6 {
			t.Errorf("%+v, want %+v", f, want)
		}
	})
}

// Noise makes no negative parameter, and does not move what one caller gets alone.
func TestNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		f, err := usl.Of(points(usl.Fit{Gamma: 50, Sigma: 0.1}, func() float64 { return 1 + 0.02*r.NormFloat64() }))
		if err != nil {
			t.Fatal(err)
		}
		if f.Sigma < 0 || f.Kappa < 0 || math.Abs(f.Gamma/50-1) > 0.1 || math.Abs(f.Sigma-0.1) > 0.03 {
			t.Errorf("%+v, want about 50 and 0.1", f)
		}
		if f.RMS > 0.05 {
			t.Errorf("the residuals are %v, of a noise of 0.02", f.RMS)
		}
	}
}

func TestWhatMakesNoFit(t *testing.T) {
	law := usl.Fit{Gamma: 100, Sigma: 0.02, Kappa: 0.0005}
	few := points(law, exact)[:5]
	for name, p := range map[string][]usl.Point{
		"none": nil, "five": few, "five twice": append(few, few...),
		"no throughput": append(points(law, exact), usl.Point{N: 256}),
		"no caller":     append(points(law, exact), usl.Point{N: 0, X: 1}),
		"no number":     append(points(law, exact), usl.Point{N: 3, X: math.NaN()}),
	} {
		if f, err := usl.Of(p); err == nil {
			t.Errorf("%s: %+v, and no error", name, f)
		}
	}
}
