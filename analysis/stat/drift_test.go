package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDrift(t *testing.T) {
	line := make([]float64, 51)
	for i := range line {
		line[i] = 7 - 3*float64(i)
	}
	if s := Drift(line, 5, 0.99); math.Abs(s.Value+3) > 1e-12 || s.High-s.Low > 1e-9 {
		t.Errorf("a line has a drift of %+v, want -3 and no doubt", s)
	}
	// 1, 2, 3, 4 and 5 in batches of 1: the mean is 3, the standard error 0.7071 and
	// the 0.975 quantile of Student's t with 4 degrees of freedom 2.7764.
	s := Drift([]float64{0, 1, 3, 6, 10, 15}, 1, 0.95)
	if want := (Slope{3, 3 - 2.7764*0.70711, 3 + 2.7764*0.70711}); math.Abs(s.Low-want.Low) > 1e-3 || math.Abs(s.High-want.High) > 1e-3 || s.Value != 3 {
		t.Errorf("drift is %+v, want %+v", s, want)
	}
	if s := Drift([]float64{100, 0, 1, 3}, 2, 0.95); !math.IsInf(s.High, 1) || s.Value != 1.5 {
		t.Errorf("drift of one batch is %+v, want 1.5 with no bounds", s)
	}
	if s := Drift([]float64{1}, 2, 0.95); !math.IsNaN(s.Value) {
		t.Errorf("drift of nothing is %+v, want none", s)
	}
}

// The interval covers the drift of random walks as often as it says, also when
// neighbouring increments depend on one another.
func TestDriftCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const runs, samples, drift = 2000, 300, 0.3
	missed := 0
	for range runs {
		level, last := []float64{0}, 0.0
		for range samples {
			now := r.NormFloat64()
			level = append(level, level[len(level)-1]+drift+now+0.8*last)
			last = now
		}
		if s := Drift(level, 10, 0.99); s.Low > drift || s.High < drift {
			missed++
		}
	}
	if missed > 45 { // 20 expected, and these are five deviations more
		t.Errorf("%d of %d intervals missed the drift, want about 1%%", missed, runs)
	}
}
