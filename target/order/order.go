// Package order holds the ways in which waiting requests can be ordered.
package order

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// An Order is the queue of a server: it decides who is served next. It uses
// Request.Links.Prev and .Next as its own and allocates nothing per request.
type Order interface {
	Push(now time.Duration, r *protection.Request)
	// Pop removes and returns the request to serve next, nil when none waits.
	Pop(now time.Duration, l protection.Load) *protection.Request
	// Remove takes r, which waits, out of the queue.
	Remove(r *protection.Request)
	Len() int
}

// An Evictor can make room for an arriving request. When a bound would refuse
// r, the core asks once for a waiting request to drop in its place; nil means
// that r is refused.
type Evictor interface {
	Evict(now time.Duration, r *protection.Request) *protection.Request
}

// A Keeper decides whether the core sweeps what can no longer be served out of
// the queue at the instant at which that becomes certain. Without a sweep such
// requests are found when their turn comes, and take up memory until then. An
// order that is no Keeper is swept.
type Keeper interface {
	Sweep() bool
}

// Setup is what the server tells an order when it is built.
type Setup struct {
	Rand    *rand.Rand // seeded, for this instance alone
	Classes []string   // names of the classes, in the order of Request.Class
}

// New builds an order from its knobs.
type New func(s Setup, knobs any) (Order, error)

// Registry holds all orders.
var Registry = plugin.NewRegistry[New]("order")
