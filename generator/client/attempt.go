package client

import "time"

// attemptState is where an attempt stands in its caller.
type attemptState struct {
	due        time.Duration // last instant at which an answer counts
	queue      *waiting      // holds it until it is over; nil then, and with behaviours
	prev, next *Attempt      // neighbours in queue; next also links free attempts

	of        *original // its original; nil without behaviours, and when it is over
	phase     phase
	deaf      bool          // its shell is not, or no longer, concerned with it
	cancelled bool          // an effect that cancels it has not been carried out yet
	level     int           // the behaviour that it comes to next
	let       levels        // whose After it still has to meet
	marks     []Mark        // by level
	until     time.Duration // when it is withheld for why, if it is still held
	why       string
	alarm     alarm
}

// Hold changes until when a, which its Holder holds, is held, and the reason for
// which it is withheld then. The instant may be later than before, not earlier.
func (a *Attempt) Hold(until time.Duration, why string) {
	a.state.until, a.state.why = until, why
}

// phase is what an attempt with behaviours waits for. Its alarm ends the phase.
type phase uint8

const (
	over      phase = iota
	dormant         // a hedge that will be sent unless an answer comes before
	parked          // the instant at which it goes on
	held            // a Holder to let it go
	sent            // its answer, until its timeout
	listening       // an answer that comes too late, until the grace is over
)

// attempts keeps attempts that are over for reuse, so that a steady load
// allocates nothing.
type attempts struct{ free *Attempt }

// take returns an attempt whose fields hold whatever its last use left in them.
func (s *attempts) take() *Attempt {
	a := s.free
	if a == nil {
		return &Attempt{}
	}
	s.free = a.state.next
	a.state.next = nil
	return a
}

// give makes a, which nobody reads any more, available again.
func (s *attempts) give(a *Attempt) {
	a.Shell = nil
	a.state.next = s.free
	s.free = a
}
