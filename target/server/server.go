// Package server is the core of the reference server: a queue, workers and
// plug-ins that take arrivals and return effects.
//
// The core is pure. A shell tells it what happens (Arrive, Finish, Advance),
// carries out the Effects it returns and wakes it at Next. Two shells exist:
// target/serve puts net/http around it, generator/virtual an event heap.
//
// What happens at one instant happens in this order: work ends, faults change
// the conditions, requests expire and protections tick, requests arrive.
package server

import (
	"errors"
	"fmt"
	"time"

	"knee/target/order"
	"knee/target/protection"
)

// Spec describes a server. Its constructors are called by New and again by each
// Reset, so that a reset server starts with fresh plug-ins.
type Spec struct {
	Workers  int           // at least 1
	Service  time.Duration // declared mean service time, above 0
	External bool          // the shell does the work and calls Finish; otherwise work takes exactly Request.Work
	// ExternalDebt has the shell do the work that rejections cost as well, and call
	// Paid; otherwise a worker stands still for exactly that long.
	ExternalDebt bool
	RejectCost   float64 // share of Service that free workers pay for each rejection; 0 to 1
	Degraded     float64 // share of its work that a degraded request takes; above 0, up to 1; 0 means 1
	Batch        Batch   // how workers take requests; the zero value: one at a time
	Order        func() (order.Order, error)
	Chain        []Link // protections in the order in which they are asked
}

// Batch says that a worker takes several requests at once. A batch of requests
// takes Overhead and then the work of each of them, and all are answered at its end.
type Batch struct {
	Size     int           // requests in a batch at most; 0 and 1 mean one at a time
	Delay    time.Duration // how long the oldest waits for the batch to fill; 0: a free worker takes what is there
	Overhead time.Duration // work that each batch costs beside that of its requests
}

// A Link is one protection of the chain.
type Link struct {
	Kind string
	New  func() (protection.Protection, error)
}

// check returns what is wrong with s.
func (s Spec) check() error {
	var errs []error
	if s.Workers < 1 {
		errs = append(errs, fmt.Errorf("workers is %d: want at least 1", s.Workers))
	}
	if s.Service <= 0 {
		errs = append(errs, fmt.Errorf("service is %v: want a mean above 0", s.Service))
	}
	if !(s.RejectCost >= 0 && s.RejectCost <= 1) { // not a number fails too
		errs = append(errs, fmt.Errorf("reject_cost is %v: want a share from 0 to 1", s.RejectCost))
	}
	if !(s.Degraded >= 0 && s.Degraded <= 1) {
		errs = append(errs, fmt.Errorf("degraded is %v: want a share above 0, up to 1", s.Degraded))
	}
	if err := s.Batch.check(s.External); err != nil {
		errs = append(errs, err)
	}
	if s.Order == nil {
		errs = append(errs, errors.New("order is not set"))
	}
	for i, l := range s.Chain {
		if l.New == nil {
			errs = append(errs, fmt.Errorf("protections[%d] (%s) has no constructor", i, l.Kind))
		}
	}
	return errors.Join(errs...)
}

// degraded returns the work of a request that gets the cheaper answer.
func (s *Spec) degraded(work time.Duration) time.Duration {
	if s.Degraded == 0 {
		return work
	}
	return time.Duration(s.Degraded * float64(work))
}

// EffectKind says what the shell has to do.
type EffectKind uint8

const (
	Start  EffectKind = iota // begin R's work outside the core (Spec.External)
	Pay                      // begin the work that rejections have cost (Spec.ExternalDebt); there is no R
	Refuse                   // tell R's caller no: it was refused at arrival or dropped from the queue
	Reply                    // tell R's caller that it was served
	Fail                     // tell R's caller that its work failed; Answer.Reason says why
	Sever                    // let R's caller find that nobody is there any more; Answer.Reason says why
)

// An Effect is one thing that the shell has to carry out, in the order given.
type Effect struct {
	Kind   EffectKind
	R      *protection.Request
	At     time.Duration // the instant at which it happened in the core's time; not after now
	Work   time.Duration // of Start and Pay: how long the work takes under the present conditions
	Debtor uint64        // of Pay: what Paid is to be told
	Answer protection.Answer
}

// Reasons of the core itself.
const (
	ReasonReset protection.Reason = "reset" // refused: it was inside when the server was reset
	ReasonCrash protection.Reason = "crash" // failed: it was inside when the server crashed
	ReasonDown  protection.Reason = "down"  // failed: it came while there was no server
)

// Counts are totals since New; Reset keeps them. Every request that arrived is
// in exactly one of Served, Failed, Refused, Dropped, Resets, or still inside.
type Counts struct {
	Arrived  uint64
	Served   uint64
	Degraded uint64            // among Served
	Failed   uint64            // work that failed, and what a crash lost or nobody took
	FailedBy map[string]uint64 // the same by reason; what a shell finished as protection.Failed is in no reason
	Refused  map[string]uint64 // by reason, at arrival
	Dropped  map[string]uint64 // by reason, from the queue, and what the shell released
	Resets   uint64            // requests inside the server when it was reset
	Peak     int               // most requests that ever waited at once
	Worked   time.Duration     // work that workers have begun, other than a shell's: for requests and for rejections
}

// Gauges are the state at one instant.
type Gauges struct {
	Waiting, Running int
	Admitted         int // waiting, running, or held by the shell
	Outside          int // came during a pause by Arrive, and nobody has seen them yet
	Workers          int // workers that exist under the present conditions
	OldestAge        time.Duration
	CostRate         float64
	Debt             time.Duration // work that rejections have cost and no worker has begun to pay
	Limit            int           // lowest limit on the requests inside that a protection sets now; 0 when none does
}
