// Package plan turns phases into arrivals: a pure, seeded sequence of when, which class, which client and how much work.
package plan

import (
	"math/rand/v2"
	"time"
)

// A Spec describes the load of one plan.
type Spec struct {
	Seed     uint64
	Arrivals Process // default Constant
	Burst    Burst   // of Bursty arrivals
	Replay   Replay  // of Replayed arrivals
	Phases   []Phase // at least one, but for a replay, which may do without
	Classes  []Class // at least one; drawn by weight, but for those with phases of their own
	Clients  int     // size of the client population, at least 1; each arrival belongs to one, drawn uniformly
	Work     Work    // nil: arrivals of classes without work of their own carry none
	Sticky   bool    // further attempts of an arrival take the work of the first, instead of drawing it anew
	Jitter   bool    // constant arrivals and constant work get a seeded offset below a microsecond (of work, at most a hundredth), so that no later instants tie
}

// Process is how arrivals spread around the rate.
type Process uint8

const (
	Constant Process = iota // equal gaps (of the integrated rate)
	Poisson                 // exponential gaps: independent users
	Bursty                  // Poisson at a rate that is switched on and off; see Burst
	Replayed                // at instants that are given; see Replay
)

// Work draws the service time that one arrival asks of the server. A Work with a
// method Constant() bool that returns true gets jitter where the spec asks for it.
type Work interface {
	Draw(r *rand.Rand) time.Duration
}

// A Class is a kind of request within the workload.
type Class struct {
	Name        string
	Weight      float64       // share of the arrivals, relative to the other classes; at least 0; unused with Phases
	Phases      []Phase       // how many arrive of this class alone; nil: a share, by weight, of the plan's phases
	Work        Work          // of this class alone; nil: the plan's
	Criticality int           // 0 sheddable, 1 sheddable_plus, 2 critical, 3 critical_plus
	Tenant      string        // whose quota it uses
	Cost        float64       // relative cost, above 0
	Bytes       int64         // size of the body, at least 0
	Protected   bool          // a health check, or the end of work already begun
	Timeout     time.Duration // how long an attempt may take, from the instant it was planned to be sent
	Deadline    time.Duration // how long the original may take, from its planned arrival
}

// PhaseKind names the shape of a phase.
type PhaseKind string

const (
	Hold  PhaseKind = "hold"  // Rate for For
	Ramp  PhaseKind = "ramp"  // From to To, linearly, for For
	Spike PhaseKind = "spike" // as Hold, and what recovery is measured from
	Sweep PhaseKind = "sweep" // loads From, From*Ratio, … To exactly, each for Hold, Passes times, every pass shuffled by the seed
)

// A Phase is one stretch of the load. Rates are in arrivals per second, real
// numbers from 0.1 to 1,000,000 (Hold and Ramp also allow 0: no load). Those of
// a replay are Hold and Spike, without a rate: they only say where steps end.
//
// The phases of a class begin with the plan, may end before it, and are no
// Sweep. They make no steps: what arrives by them counts in the step that is on.
type Phase struct {
	Kind     PhaseKind
	Label    string // what the steps it yields are for; default its kind
	Name     string // what they are called, beside that; "" is no name
	Rate     float64
	From, To float64
	For      time.Duration
	Ratio    float64
	Hold     time.Duration
	Passes   int // of a sweep, at least 1
}

// A Step is a stretch of the plan that is counted and judged on its own: a
// phase, or one load of one pass of a sweep.
type Step struct {
	Index    int           // from 0, in the order of time
	Phase    int           // index of the phase it comes from
	Label    string        // the phase's label
	Name     string        // the phase's name
	Start    time.Duration // since the start of the plan
	Duration time.Duration
	From, To float64 // rate at its start and end, arrivals per second; both with the mean of the classes with phases of their own
	Pass     int     // of a sweep, from 0
}

// Rate returns the mean rate of the step in arrivals per second.
func (s Step) Rate() float64 { return (s.From + s.To) / 2 }

// An Arrival is one request that the load brings, whether or not it is sent.
type Arrival struct {
	Seq    uint64        // place in the whole plan, from 0; a share keeps the numbers of the whole
	At     time.Duration // instant at which it is due; no two arrivals of a plan have the same
	Step   int           // index of its step
	Class  int           // index of its class
	Client uint32        // who sends it, below Spec.Clients
	Work   time.Duration // service time on an idle, healthy worker
}

// A Share is one part of a plan that several generators offer together. The
// arrivals are split by client, so that what a client remembers stays in one
// place and a share of a Poisson stream is Poisson.
type Share struct {
	Index, Of int // part Index (from 0) of Of parts
}
