package work

import (
	"math"
	"math/rand/v2"
	"time"
)

// pareto has a power-law tail: P(X > x) = (low/x)^alpha above low. A draw is
// capped at a year, which for alpha near 1 takes a visible part of the mean.
type pareto struct {
	mean    time.Duration
	low     float64 // nanoseconds
	inverse float64 // 1/alpha
}

// The mean of a Pareto distribution is low alpha / (alpha - 1).
func newPareto(s Spec) Dist {
	return pareto{mean: s.Mean, low: float64(s.Mean) * (s.Alpha - 1) / s.Alpha, inverse: 1 / s.Alpha}
}

// The logarithm of a Pareto variable is exponential.
func (d pareto) Draw(r *rand.Rand) time.Duration {
	return span(d.low * math.Exp(r.ExpFloat64()*d.inverse))
}

func (d pareto) Mean() time.Duration { return d.mean }
