// Package fault holds the ways in which a server can be made worse on purpose.
package fault

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// Conditions are what faults bend and the core reads.
type Conditions struct {
	WorkFactor float64 // work takes this many times as long; above 0 and finite; 1 is healthy
	Workers    int     // workers that may take requests
	Stalled    bool    // no worker takes a request and no work makes progress
	Paused     bool    // as Stalled, and arrivals wait outside, unseen by any protection, until it is over
	Down       bool    // the process is gone: what was inside is lost, and who comes finds nobody
	RejectCost float64 // share of a mean request's work that one rejection takes, 0 to 1; healthy is what the server has anyway

	// Contention and Coherence are the two coefficients of the universal
	// scalability law: with n workers busy, work takes
	// 1 + Contention·(n-1) + Coherence·n·(n-1) times as long. Both are 0 when healthy.
	Contention, Coherence float64
}

// A Fault bends the conditions of a server while it is active. It is a pointer:
// the server knows it again by identity.
type Fault interface {
	// Bend changes c at now and returns the next instant at which it would change
	// it otherwise. The first call tells it when it began.
	Bend(now time.Duration, c *Conditions) (next time.Duration)
}

// A Treatment is what becomes of one request that a worker takes.
type Treatment struct {
	Work time.Duration     // how long it takes on a healthy worker
	Fail protection.Reason // why the work fails in the end; "" when it does not
}

// A Treater is a Fault that touches single requests: some of them, or in a way
// that conditions cannot express. It is asked as a worker takes r.
type Treater interface {
	Fault
	Treat(now time.Duration, r *protection.Request, t *Treatment)
}

// Setup is what the server tells a fault when it is built.
type Setup struct {
	Workers int           // number of workers
	Service time.Duration // declared mean service time
	Classes []string      // names of the classes, by Request.Class
	Rand    *rand.Rand    // seeded, for this instance alone
}

// New builds a fault from its knobs.
type New func(s Setup, knobs any) (Fault, error)

// Registry holds all faults.
var Registry = plugin.NewRegistry[New]("fault")
