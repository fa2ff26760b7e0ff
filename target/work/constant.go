package work

import (
	"math/rand/v2"
	"time"
)

// constant takes the mean, always.
type constant struct{ mean time.Duration }

func newConstant(s Spec) Dist { return constant{s.Mean} }

func (d constant) Draw(*rand.Rand) time.Duration { return d.mean }
func (d constant) Mean() time.Duration           { return d.mean }

// Constant tells the plan that all draws are equal, which is where its jitter matters.
func (d constant) Constant() bool { return true }
