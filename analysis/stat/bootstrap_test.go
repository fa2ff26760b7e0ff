package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/analysis/stat"
)

// mean returns the estimate whose blocks are x.
func mean(x []float64) func([]int) float64 {
	return func(picked []int) float64 {
		sum := 0.0
		for _, i := range picked {
			sum += x[i]
		}
		return sum / float64(len(picked))
	}
}

// Of many samples of a known mean the intervals hold it about as often as they say,
// with few blocks too.
func TestBootstrapCovers(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for _, blocks := range []int{7, 15, 30} {
		const samples = 400
		held := 0
		for i := range samples {
			x := make([]float64, blocks)
			for j := range x {
				x[j] = 10 + source.NormFloat64()
			}
			if low, high := stat.BlockBootstrap(blocks, uint64(i), mean(x)); low <= 10 && 10 <= high {
				held++
			}
		}
		if share := float64(held) / samples; share < 0.89 || share > 0.985 {
			t.Errorf("%d blocks: %.1f%% of the intervals hold the mean, want about 95%%", blocks, 100*share)
		}
	}
}

func TestBootstrapOfLittle(t *testing.T) {
	for name, c := range map[string]struct {
		blocks int
		of     func([]int) float64
	}{
		"nothing":   {0, func([]int) float64 { return 1 }},
		"one block": {1, func([]int) float64 { return 1 }},
		"no number": {5, func([]int) float64 { return math.NaN() }},
	} {
		if low, high := stat.BlockBootstrap(c.blocks, 1, c.of); !math.IsInf(low, -1) || !math.IsInf(high, 1) {
			t.Errorf("%s: %v to %v, want no bounds", name, low, high)
		}
	}
	same := []float64{3, 3, 3}
	if low, high := stat.BlockBootstrap(3, 1, mean(same)); low != 3 || high != 3 {
		t.Errorf("blocks that are the same: %v to %v, want 3", low, high)
	}
	x := []float64{1, 2, 3, 4, 9}
	a, b := stat.BlockBootstrap(5, 7, mean(x))
	if c, d := stat.BlockBootstrap(5, 7, mean(x)); a != c || b != d {
		t.Error("the same seed gives another interval")
	}
}

// With two blocks, one high and one low, every draw is an end or the middle, and
// the interval is wider by Student's t with one degree of freedom.
func TestBootstrapIsWidened(t *testing.T) {
	low, high := stat.BlockBootstrap(2, 1, mean([]float64{-1, 1}))
	want := distuv.StudentsT{Sigma: 1, Nu: 1}.Quantile(0.975) / distuv.Normal{Sigma: 1}.Quantile(0.975)
	if math.Abs(high-want) > 1e-3 || math.Abs(low+want) > 1e-3 {
		t.Errorf("%v to %v, want plus and minus %v", low, high, want)
	}
	// The same ends without the blocks' being few.
	wide := make([]float64, 15)
	for i := range wide {
		wide[i] = float64(i % 2)
	}
	if low, high := stat.BlockBootstrap(15, 1, mean(wide)); low < 0 || high > 1 {
		t.Errorf("%v to %v: 15 blocks are widened as well", low, high)
	}
}
