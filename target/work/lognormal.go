package work

import (
	"math"
	"math/rand/v2"
	"time"
)

// lognormal is exp(mu + sigma Z) with Z normal: what sums of many factors look like.
type lognormal struct {
	mean      time.Duration
	mu, sigma float64 // of the logarithm of nanoseconds
}

// With sigma² = ln(1 + cv²) the mean is exp(mu + sigma²/2).
func newLognormal(s Spec) Dist {
	variance := math.Log1p(s.CV * s.CV)
	return lognormal{
		mean:  s.Mean,
		mu:    math.Log(float64(s.Mean)) - variance/2,
		sigma: math.Sqrt(variance),
	}
}

func (d lognormal) Draw(r *rand.Rand) time.Duration {
	return span(math.Exp(d.mu + d.sigma*r.NormFloat64()))
}

func (d lognormal) Mean() time.Duration { return d.mean }
