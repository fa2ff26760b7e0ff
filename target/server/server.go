// Package server is the core of the reference server: a queue, workers and
// plug-ins that take arrivals and return effects.
//
// The core is pure. A shell tells it what happens (Arrive, Finish, Advance),
// carries out the Effects it returns and wakes it at Next. Two shells exist:
// target/serve puts net/http around it, generator/virtual an event heap.
package server

import (
	"time"

	"knee/target/order"
	"knee/target/protection"
)

// Spec describes a server. Its constructors are called by New and again by each
// Reset, so that a reset server starts with fresh plug-ins.
type Spec struct {
	Workers    int           // at least 1
	Service    time.Duration // declared mean service time, above 0
	External   bool          // the shell does the work and calls Finish; otherwise work takes exactly Request.Work
	RejectCost float64       // share of Service that free workers pay for each rejection; 0 to 1
	Order      func() (order.Order, error)
	Chain      []Link // protections in the order in which they are asked
}

// A Link is one protection of the chain.
type Link struct {
	Kind string
	New  func() (protection.Protection, error)
}

// EffectKind says what the shell has to do.
type EffectKind uint8

const (
	Start  EffectKind = iota // begin R's work outside the core (Spec.External)
	Refuse                   // tell R's caller no: it was refused at arrival or dropped from the queue
	Reply                    // tell R's caller that it was served
)

// An Effect is one thing that the shell has to carry out, in the order given.
type Effect struct {
	Kind   EffectKind
	R      *protection.Request
	At     time.Duration // the instant at which it happened in the core's time; not after now
	Answer protection.Answer
}

// Counts are totals since New; Reset keeps them.
type Counts struct {
	Arrived  uint64
	Served   uint64
	Degraded uint64            // among Served
	Refused  map[string]uint64 // by reason, at arrival
	Dropped  map[string]uint64 // by reason, from the queue
	Resets   uint64            // requests inside the server when it was reset
}

// Gauges are the state at one instant.
type Gauges struct {
	Waiting, Running int
	OldestAge        time.Duration
	CostRate         float64
}
