package work

import (
	"math/rand/v2"
	"time"
)

// exponential is memoryless: the coefficient of variation is 1.
type exponential struct{ mean time.Duration }

func newExponential(s Spec) Dist { return exponential{s.Mean} }

func (d exponential) Draw(r *rand.Rand) time.Duration {
	return span(r.ExpFloat64() * float64(d.mean))
}

func (d exponential) Mean() time.Duration { return d.mean }
