// Package fault holds the ways in which a server can be made worse on purpose.
//
// A fault begins when the server calls it first, and ends when it is lifted. When
// that is, and how long it takes to grow (Setup.Ramp), stands beside its knobs in
// a profile: `at`, `for`, `ramp`, `seed`.
//
// What has a size (a factor, a share, a number of workers, a cost) grows
// linearly along the ramp, in a hundred steps. What is there or not, such as a
// stall or a crash, refuses a ramp.
//
// Faults of requests have a Scope: they hit a share of the requests, those of
// one class or tenant, or the first few. Faults of the server as a whole have
// none, but a `share` of 0 switches any fault off.
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
	Crashes    int     // crashes that have happened: when there is one more, all that was inside is lost
	Down       bool    // the process is gone: who comes finds nobody
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
	Stuck bool              // it keeps its worker until the fault is lifted, and only then takes its time
	Work  time.Duration     // how long it takes on a healthy worker
	Fail  protection.Reason // why the work fails in the end; "" when it does not
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
	Ramp    time.Duration // how long the fault takes to grow from nothing to its full size, linearly; at least 0
	Rand    *rand.Rand    // seeded, for this instance alone
}

// New builds a fault from its knobs.
type New func(s Setup, knobs any) (Fault, error)

// Registry holds all faults.
var Registry = plugin.NewRegistry[New]("fault")
