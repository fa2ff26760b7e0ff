// Package fault holds the ways in which a server can be made worse on purpose.
package fault

import (
	"time"

	"knee/target/plugin"
)

// Conditions are what faults bend and the core reads.
type Conditions struct {
	WorkFactor float64 // work takes this many times as long; above 0 and finite; 1 is healthy
	Workers    int     // workers that may take requests
	Stalled    bool    // no worker takes a request and no work makes progress
}

// A Fault bends the conditions of a server while it is active. It is a pointer:
// the server knows it again by identity.
type Fault interface {
	// Bend changes c at now and returns the next instant at which it would change
	// it otherwise.
	Bend(now time.Duration, c *Conditions) (next time.Duration)
}

// New builds a fault from its knobs.
type New func(knobs any) (Fault, error)

// Registry holds all faults.
var Registry = plugin.NewRegistry[New]("fault")
