// Package client is the population of callers: it decides what is sent and when, and how each original ended.
//
// A Population is the client half of a run as a pure state machine, the mirror
// image of target/server. A shell tells it of arrivals, answers and the time;
// it returns sends and cancels and books every ending with a Recorder. The
// live and the virtual shell drive the same code.
package client

import (
	"math/rand/v2"
	"time"

	"knee/generator/plan"
	"knee/target/plugin"
)

// Options describe the population.
type Options struct {
	Classes     []plan.Class  // at least one; Timeout and Deadline above 0, up to 24h
	Grace       time.Duration // how long after the timeout to go on listening; 0 to 24h
	Close       bool          // hang up at the timeout instead of listening
	MaxInFlight int           // attempts outstanding at once; what exceeds it is unsent with reason in_flight; 0: no bound
	Behaviours  []Behaviour   // what callers do with their attempts, the outermost first; see Behaviour
}

// An Attempt is one time that an original is sent. The shell reads it; it stays
// valid until the shell has answered or cancelled it.
type Attempt struct {
	Arrival  plan.Arrival  // the original; Step is the run's step index
	Number   int           // 1 for the first attempt
	Hedge    bool          // it is sent beside others that are not answered yet
	Planned  time.Duration // instant at which it was to be sent
	Sent     time.Duration // instant at which it was sent; Never before
	Timeout  time.Duration // instant at which its timeout ends
	Deadline time.Duration // instant at which the original's deadline ends
	Shell    any           // for the shell's own use
	Mark     *Mark         // of the behaviour that is being called, or that holds it

	state attemptState
}

// A Mark is what one behaviour remembers of one attempt; it is zero at first. An
// attempt that follows from another by the wish of that behaviour, or of one
// further inside, has a copy of its mark.
type Mark struct {
	Count uint64
	At    time.Duration
}

// Result is what kind of answer an attempt got.
type Result uint8

const (
	OK       Result = iota // success by the success rule
	Rejected               // the server said no
	Failed                 // transport or protocol failure, or any other status
	NotSent                // the generator itself could not send it: descriptors, ports

	// What behaviours are told beside these; a shell reports none of them.
	TimedOut  // no answer by the attempt's timeout
	Withheld  // a behaviour kept it from being sent
	Cancelled // given up, sent or not, as its original has ended without it
)

// An Answer ends one attempt.
type Answer struct {
	Result     Result
	Degraded   bool          // of OK
	NoRetry    bool          // the server asked not to try again
	Granted    bool          // Credits says something
	Credits    int           // attempts that the caller may have open from now on
	RetryAfter time.Duration // what the server asked for; 0 when nothing
	Reason     string        // of a rejection, a failure kind, or why it was not sent
}

// EffectKind says what the shell has to do.
type EffectKind uint8

const (
	Send   EffectKind = iota // send Attempt now
	Cancel                   // stop listening for Attempt; no answer may be reported any more
)

// An Effect is one thing that the shell has to carry out, in the order given.
type Effect struct {
	Kind    EffectKind
	Attempt *Attempt
}

// Setup is what a behaviour is told when it is built.
type Setup struct {
	Clients int        // callers in the population, at least 1; attempts name one of them each
	Rand    *rand.Rand // seeded, for this instance alone
}

// NewBehaviour builds a behaviour from its knobs: what Info.Knobs returned, with
// the values of the profile decoded into it.
type NewBehaviour func(s Setup, knobs any) (Behaviour, error)

// Registry holds all client behaviours.
var Registry = plugin.NewRegistry[NewBehaviour]("client behaviour")
