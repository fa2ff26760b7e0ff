package stat

import "math"

// MSER5 returns how many of the first values of a series to leave out, so that
// what is left is most certain of its mean: the values are averaged in fives, and
// the cut d minimises the sum of the squared deviations of what is behind it over
// the square of how many those are (White, Cobb and Spratt 2000). The rule is valid
// only when the cut is in the first half: where it is not, the series never
// settled, and nothing is to be left out.
//
// It mistakes a collapse in the first half for a warm-up that ends there. It is for
// loads that a server is known to carry.
func MSER5(x []float64) (cut int, valid bool) {
	const batch = 5
	n := len(x) / batch
	if n < 2 {
		return 0, false
	}
	means := make([]float64, n)
	for i := range means {
		for _, v := range x[i*batch : (i+1)*batch] {
			means[i] += v / batch
		}
	}
	best := math.Inf(1)
	// From behind: what is left grows by one mean, whose share is updated.
	mean, squares := 0.0, 0.0
	for d := n - 1; d >= 0; d-- {
		left := float64(n - d)
		delta := means[d] - mean
		mean += delta / left
		squares += delta * (means[d] - mean)
		if left < 2 {
			continue // one mean has no scatter, and would always be the best
		}
		if score := squares / (left * left); score <= best {
			best, cut = score, d
		}
	}
	if cut > n/2 {
		return 0, false
	}
	return cut * batch, true
}
