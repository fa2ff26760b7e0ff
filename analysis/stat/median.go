// Package stat holds the estimators and tests that the analyses share. All of
// them are pure, and none assumes that noise is normal.
package stat

import (
	"math"
	"slices"
)

// Median returns the middle of x, or the mean of the two in the middle. It
// leaves x as it is and is NaN when x is empty.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return middle(s)
}

// middle is the median of s, which is sorted and not empty.
func middle(s []float64) float64 {
	if n := len(s); n%2 == 0 {
		return s[n/2-1] + (s[n/2]-s[n/2-1])/2
	}
	return s[len(s)/2]
}
