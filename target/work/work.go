// Package work draws how much work a request asks of a server.
//
// Work is the service time that the request needs on an idle, healthy worker.
// It is drawn with the plan, so that every world and every defence faces the
// same demand.
package work

import (
	"math/rand/v2"
	"time"
)

// A Dist is a distribution of service times with a known mean.
type Dist interface {
	// Draw returns one service time, at least one nanosecond.
	Draw(r *rand.Rand) time.Duration
	// Mean returns the expected service time.
	Mean() time.Duration
}
