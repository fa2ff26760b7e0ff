package stat

import (
	"math"
	"slices"
)

// Slope is a Theil–Sen slope with its 95 % confidence interval, in units of y
// per unit of x.
type Slope struct {
	Value, Low, High float64
}

// TheilSen returns the median of the slopes between all pairs of points, with
// Sen's interval (Sen 1968): order statistics of the slopes, placed by the
// variance of Kendall's S with its correction for ties in y. Pairs with equal x
// are left out. One outlier in four does not move the slope far. With fewer than
// four distinct slopes the interval is infinite; without any, Value is NaN.
//
// The cost grows with the square of the number of points, so more than 400 are
// first averaged with their neighbours into at most as many; x ascends then.
//
// The interval assumes that the scatter around the line is independent from
// point to point. A queue's length is not: see Growing.
func TheilSen(x, y []float64) Slope {
	if len(x) != len(y) {
		panic("stat: TheilSen: x and y differ in length")
	}
	x, y = thinned(x), thinned(y)
	var slopes []float64
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			if x[i] != x[j] {
				slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
	}
	none := Slope{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	if len(slopes) == 0 {
		return none
	}
	slices.Sort(slopes)
	none.Value = middle(slopes)
	if len(slopes) < 4 {
		return none
	}
	const z = 1.959963984540054 // normal quantile of 0.975
	c := z * math.Sqrt(kendallVariance(y))
	n := float64(len(slopes))
	low, high := int(math.Floor((n-c)/2))-1, int(math.Ceil((n+c)/2))
	if low < 0 || high >= len(slopes) {
		return none
	}
	return Slope{Value: none.Value, Low: slopes[low], High: slopes[high]}
}

// maxPoints is how many points TheilSen pairs at most.
const maxPoints = 400

// thinned averages neighbours so that at most maxPoints values are left.
func thinned(v []float64) []float64 {
	if len(v) <= maxPoints {
		return v
	}
	size := (len(v) + maxPoints - 1) / maxPoints
	means := make([]float64, 0, maxPoints)
	for group := range slices.Chunk(v, size) {
		sum := 0.0
		for _, g := range group {
			sum += g
		}
		means = append(means, sum/float64(len(group)))
	}
	return means
}

// kendallVariance is the variance of Kendall's S without a trend.
func kendallVariance(y []float64) float64 {
	n := float64(len(y))
	v := n * (n - 1) * (2*n + 5)
	s := slices.Clone(y)
	slices.Sort(s)
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		t := float64(j - i)
		v -= t * (t - 1) * (2*t + 5)
		i = j
	}
	return v / 18
}
