package stat

import "math"

// binomialAtMost returns the chance of at most k successes in n trials that
// succeed with chance p each.
func binomialAtMost(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	all, _ := math.Lgamma(float64(n) + 1)
	sum := 0.0
	for i := 0; i <= k; i++ {
		in, _ := math.Lgamma(float64(i) + 1)
		out, _ := math.Lgamma(float64(n-i) + 1)
		sum += math.Exp(all - in - out + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// ClopperPearson returns the interval in which the chance of a success lies, after
// k successes in n trials: of all chances p for which neither so few nor so many
// successes are less likely than (1-confidence)/2 (Clopper and Pearson 1934). It
// holds at least with that confidence, whatever p is. It is 0 to 1 without trials.
//
// It panics unless 0 <= k <= n and confidence is between 0 and 1.
func ClopperPearson(k, n int, confidence float64) (low, high float64) {
	checkBinomial(k, n, confidence)
	tail := (1 - confidence) / 2
	return lowerBound(k, n, tail), upperBound(k, n, tail)
}

// AtMost returns the highest chance of a success that k successes in n trials leave
// with the given confidence: the one-sided bound of Clopper and Pearson. After 0 of
// n it is 1-(1-confidence)^(1/n).
func AtMost(k, n int, confidence float64) float64 {
	checkBinomial(k, n, confidence)
	return upperBound(k, n, 1-confidence)
}

func checkBinomial(k, n int, confidence float64) {
	if k < 0 || k > n || !(confidence > 0 && confidence < 1) {
		panic("stat: want 0 <= k <= n and a confidence between 0 and 1")
	}
}

// upperBound returns the p at which at most k successes have the chance tail.
func upperBound(k, n int, tail float64) float64 {
	if k == n {
		return 1
	}
	return bisect(func(p float64) bool { return binomialAtMost(k, n, p) > tail })
}

// lowerBound returns the p at which at least k successes have the chance tail.
func lowerBound(k, n int, tail float64) float64 {
	if k == 0 {
		return 0
	}
	return bisect(func(p float64) bool { return 1-binomialAtMost(k-1, n, p) < tail })
}

// bisect returns the p between 0 and 1 up to which below holds.
func bisect(below func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 { // to the last bit
		if mid := (low + high) / 2; below(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}
