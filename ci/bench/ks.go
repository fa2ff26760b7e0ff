package main

import (
	"math"
	"slices"
)

// exponentialDistance returns the Kolmogorov–Smirnov distance between gaps, in
// nanoseconds, and the exponential distribution of a rate per second: the
// largest difference between the two distribution functions.
func exponentialDistance(gaps []float64, rate float64) float64 {
	x := slices.Sorted(slices.Values(gaps))
	n := float64(len(x))
	d := 0.0
	for i, gap := range x {
		f := -math.Expm1(-rate * gap / 1e9)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// kolmogorov returns how probable a distance of d, or a larger one, is for n
// values that are drawn from the distribution. The correction for finite n is
// Stephens' (JASA 69, 1974, table 1A).
func kolmogorov(d float64, n int) float64 {
	if n == 0 {
		return 1
	}
	root := math.Sqrt(float64(n))
	x := (root + 0.12 + 0.11/root) * d
	if x < 0.2 {
		return 1 // the series does not converge there; what is left is below 1e-12
	}
	p, sign := 0.0, 1.0
	for k := 1.0; k <= 100; k++ {
		term := math.Exp(-2 * k * k * x * x)
		p += sign * term
		if term < 1e-16 {
			break
		}
		sign = -sign
	}
	return min(max(2*p, 0), 1)
}
