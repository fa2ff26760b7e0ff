package plan

import (
	"math"
	"math/rand/v2"
)

// picksOf returns, for each class, the bound on a 53-bit number below which
// the class or one before it is drawn. A class without weight, or with phases of
// its own, has the bound of the one before it, so that no number draws it.
func picksOf(classes []Class) []uint64 {
	var total, sum float64
	weight := func(c Class) float64 {
		if shared(c) {
			return c.Weight
		}
		return 0
	}
	for _, c := range classes {
		total += weight(c)
	}
	picks := make([]uint64, len(classes))
	last := 0
	for i, c := range classes {
		sum += weight(c)
		picks[i] = uint64(math.Min(1, sum/total) * (1 << 53))
		if weight(c) > 0 {
			last = i
		}
	}
	// Rounding must leave no number to the classes after the last with weight.
	for i := last; i < len(picks); i++ {
		picks[i] = 1 << 53
	}
	return picks
}

// pick draws the index of a class.
func pick(picks []uint64, r *rand.PCG) int {
	u := r.Uint64() >> 11
	lo, hi := 0, len(picks)-1
	for lo < hi {
		if mid := (lo + hi) / 2; u < picks[mid] {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
