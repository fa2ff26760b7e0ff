// Package protection holds the ways in which a server can defend itself from overload.
//
// A Protection is a state machine. Time comes in as an argument, counted from
// the start of the run; randomness comes in as Setup.Rand. It starts no
// goroutine, takes no lock and reads no clock. The server calls it from one
// goroutine at a time, in the order of now.
package protection

import (
	"math"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

// Never is the instant that does not come.
const Never = time.Duration(math.MaxInt64)

// A Reason names why a request was refused; it is empty for one that was let
// in. Reasons are few: they are keys of counters.
type Reason string

// Criticality says who is shed first. Higher is shed later.
type Criticality uint8

// The four levels of the SRE book, shed in ascending order. Critical is the default of a profile.
const (
	Sheddable Criticality = iota
	SheddablePlus
	Critical
	CriticalPlus
)

// A Request is one unit of work that a server was asked to do. The shell fills
// the first block before it hands the request to the core and leaves the rest
// to the core, its order and its protections. A shell may reuse a Request once
// the core has answered or refused it.
type Request struct {
	ID          uint64        // unique among the requests inside the server
	Client      uint32        // identity of the caller
	Class       int           // index into the classes of the profile
	Criticality Criticality   // who is shed first
	Tenant      string        // whose quota it uses
	Cost        float64       // relative cost, above 0; 1 is an ordinary request
	Bytes       int64         // size of the request's body
	Attempt     int           // 1 for the first attempt of an original, 2 for its first repetition …; 0 when unknown
	Protected   bool          // a health check, or the end of work already begun: what sheds by load lets it in
	Work        time.Duration // service time on an idle, healthy worker
	Arrived     time.Duration // instant of arrival at the server
	Deadline    time.Duration // instant after which an answer is useless; Never when unknown
	Shell       any           // whatever the shell needs to find the caller again

	Expires   time.Duration // instant at which the core sweeps it from the queue; protections tighten it
	ExpiresBy Reason        // why, when Expires comes
	Degraded  bool          // a protection decided to give the cheaper answer
	InFlight  int           // requests inside when it was let in, itself included
	Started   time.Duration // instant at which a worker took it
	Links     Links         // belongs to the core and to the order that holds the request
}

// Links are the intrusive pointers by which the core and the orders hold a
// queued request without allocating. Protections leave them alone.
type Links struct {
	Prev, Next    *Request // neighbours in the order's list
	Older, Newer  *Request // neighbours by arrival, for the age of the oldest
	Sooner, Later *Request // neighbours by expiry
	Heap          int      // place in the expiry heap, plus one; 0 when not in it, -1 when in the list instead
	State         uint8    // the core's own
	Fails         Reason   // why its work fails in the end; "" when it does not
}

// Load is what a protection may know about the server at the instant of a call.
// In Admit and Pick the request asked about is not counted.
type Load struct {
	Waiting    int           // requests in the queue
	Running    int           // requests that a worker is busy with
	Admitted   int           // requests let in and not yet left: waiting, running, or held by the shell
	Workers    int           // workers that exist now
	QueuedCost float64       // sum of Cost over the queue
	CostRate   float64       // cost per second that the server gets through with all workers busy, measured
	Oldest     time.Duration // arrival of the oldest request in the queue; Never when it is empty
	LastEmpty  time.Duration // last instant at which the queue was empty; now while it is
}

// An Outcome says how a request that was let in left the server.
type Outcome uint8

const (
	Served  Outcome = iota // a worker finished it
	Dropped                // it left the queue without being started; End.Reason says why
	Failed                 // a worker took it and failed
)

// End is how a request left the server.
type End struct {
	Outcome Outcome
	Reason  Reason        // of a drop
	Waited  time.Duration // from arrival to start, or to the drop
	Served  time.Duration // from start to end; 0 for a drop
}

// A Protection decides which requests a server takes on.
type Protection interface {
	// Admit reports why r, which arrives at now, may not enter; "" lets it in. It
	// may tighten r.Expires (with r.ExpiresBy) or set r.Degraded. It is on the hot
	// path and must not allocate.
	Admit(now time.Duration, r *Request, l Load) Reason
	// Leave is called exactly once for each request that this protection let in,
	// whether it was started or not, and also when a later protection of the chain
	// refused it (as Dropped, with that reason).
	Leave(now time.Duration, r *Request, e End)
}

// A Picker takes a second look at a request as it leaves the queue for a
// worker. l does not count r.
type Picker interface {
	Pick(now time.Duration, r *Request, l Load) Reason
}

// A Ticker wants to be called at instants of its own. The core calls Tick once
// at the start of the run and then at each instant that the last call returned;
// Never ends it.
type Ticker interface {
	Tick(now time.Duration, l Load) (next time.Duration)
}

// A Stamper adds to the answer of a request, be it served or refused.
type Stamper interface {
	Stamp(now time.Duration, r *Request, a *Answer)
}

// Answer is what travels back to the caller beside the result.
type Answer struct {
	Reason     Reason        // why it was refused; "" when it was served
	RetryAfter time.Duration // how long the caller should wait; 0 when nothing is said
	Credits    int           // requests that the caller may have open from now on
	Granted    bool          // Credits says something
	NoRetry    bool          // the caller should not try again, whatever its own rules say
	Degraded   bool
}

// A Limiter has a limit on the requests inside that a screen can show.
type Limiter interface {
	Limit() int
}

// Setup is what the server tells a protection when it is built.
type Setup struct {
	Workers int           // number of workers
	Service time.Duration // declared mean service time
	Classes []string      // names of the classes, by Request.Class
	Rand    *rand.Rand    // seeded, for this instance alone
}

// New builds a protection from its knobs: what Info.Knobs returned, with the
// values of the profile decoded into it.
type New func(s Setup, knobs any) (Protection, error)

// Registry holds all protections.
var Registry = plugin.NewRegistry[New]("protection")
