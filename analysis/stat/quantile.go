package stat

import (
	"math"
	"slices"
)

// QuantileInterval returns between which two of the values of x the q-quantile of
// what they are drawn from lies, with at least the given confidence, whatever the
// distribution: the l-th and the u-th smallest, where the number of values below
// the quantile, which is binomial, is less than l or at least u with a chance of at
// most (1-confidence)/2 each. covered is the confidence that the two have. Where x
// is too short for a bound it is infinite: six values bound a median at 96.9%.
//
// Values may be infinite, as those of recoveries that never came. x is left as it
// is. It panics unless q and confidence are between 0 and 1.
func QuantileInterval(x []float64, q, confidence float64) (low, high, covered float64) {
	if !(q > 0 && q < 1) || !(confidence > 0 && confidence < 1) {
		panic("stat: want a quantile and a confidence between 0 and 1")
	}
	n, tail := len(x), (1-confidence)/2
	s := slices.Sorted(slices.Values(x))
	l := 0
	for l < n && binomialAtMost(l, n, q) <= tail {
		l++
	}
	u := n + 1
	for u > 1 && 1-binomialAtMost(u-2, n, q) <= tail {
		u--
	}
	low, high, covered = math.Inf(-1), math.Inf(1), 1
	if l >= 1 {
		low = s[l-1]
		covered -= binomialAtMost(l-1, n, q)
	}
	if u <= n {
		high = s[u-1]
		covered -= 1 - binomialAtMost(u-1, n, q)
	}
	return low, high, covered
}
