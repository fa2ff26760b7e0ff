package work

import (
	"math/rand/v2"
	"time"
)

// bimodal is fast, or now and then slow: a cache that misses. The defaults
// with a mean of 1 ms are 99% of 0.5 ms and 1% of 50.5 ms.
type bimodal struct {
	mean, fast, slow time.Duration
	share            float64 // of slow requests
}

func newBimodal(s Spec) Dist {
	fast := float64(s.Mean) / (1 - s.SlowShare + s.SlowShare*s.SlowFactor)
	return bimodal{mean: s.Mean, fast: span(fast), slow: span(fast * s.SlowFactor), share: s.SlowShare}
}

func (d bimodal) Draw(r *rand.Rand) time.Duration {
	if r.Float64() < d.share {
		return d.slow
	}
	return d.fast
}

func (d bimodal) Mean() time.Duration { return d.mean }
