package stat

import "math"

// studentsT returns the q-quantile, q above 1/2, of Student's t with n degrees of
// freedom, n at least 1.
func studentsT(q float64, n int) float64 {
	// With t = √n tan θ the distribution is a finite sum of sines and cosines
	// (Abramowitz and Stegun 26.7.3 and 26.7.4): bisect takes θ in quarter turns.
	quarter := bisect(func(u float64) bool { return studentsWithin(u*math.Pi/2, n) < 2*q-1 })
	return math.Sqrt(float64(n)) * math.Tan(quarter*math.Pi/2)
}

// studentsWithin returns the chance that Student's t with n degrees of freedom is
// within ±√n tan theta.
func studentsWithin(theta float64, n int) float64 {
	sin, cos := math.Sincos(theta)
	term, sum := sin, 0.0
	if n%2 == 1 {
		term *= cos
	}
	for k := 1 + n%2; k < n; k += 2 {
		sum += term
		term *= float64(k) / float64(k+1) * cos * cos
	}
	if n%2 == 1 {
		return 2 / math.Pi * (theta + sum)
	}
	return sum
}
