package client

import "time"

// attemptState is where an attempt stands in its population.
type attemptState struct {
	due        time.Duration // last instant at which an answer counts
	queue      *waiting      // holds it until it is over; nil then
	prev, next *Attempt      // neighbours in queue; next also links free attempts
}

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
