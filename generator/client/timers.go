package client

import (
	"time"

	"knee/target/protection"
)

// waiting holds the open attempts that are waited for equally long, in the
// order in which their waits end. Their planned instants only grow, so a new
// attempt belongs at the tail; an attempt leaves from anywhere. Both take
// constant time, and an answered attempt leaves nothing behind.
type waiting struct {
	patience   time.Duration // from an attempt's planned instant to its due
	due        time.Duration // of head; Never when there is none
	head, tail *Attempt
}

// push adds a, with state.due set.
func (q *waiting) push(a *Attempt) {
	before := q.tail
	for before != nil && before.state.due > a.state.due {
		before = before.state.prev // only when planned instants went back
	}
	after := q.head
	if before != nil {
		after = before.state.next
		before.state.next = a
	} else {
		q.head, q.due = a, a.state.due
	}
	if after != nil {
		after.state.prev = a
	} else {
		q.tail = a
	}
	a.state.queue, a.state.prev, a.state.next = q, before, after
}

// remove takes a out of its queue.
func (q *waiting) remove(a *Attempt) {
	s := &a.state
	if s.prev != nil {
		s.prev.state.next = s.next
	} else {
		q.head, q.due = s.next, protection.Never
		if s.next != nil {
			q.due = s.next.state.due
		}
	}
	if s.next != nil {
		s.next.state.prev = s.prev
	} else {
		q.tail = s.prev
	}
	s.queue, s.prev, s.next = nil, nil, nil
}

// timers is one queue per distinct patience: a handful, however many attempts
// are open.
type timers []*waiting

// queue returns the queue for a patience, which it adds when it is new.
func (t *timers) queue(patience time.Duration) *waiting {
	for _, q := range *t {
		if q.patience == patience {
			return q
		}
	}
	q := &waiting{patience: patience, due: protection.Never}
	*t = append(*t, q)
	return q
}

// due returns when the first wait ends; Never when none is open. It is asked more
// often than which wait that is, and small enough to be inlined.
func (t timers) due() time.Duration {
	due := protection.Never
	for _, q := range t {
		due = min(due, q.due)
	}
	return due
}

// next returns the attempt whose wait ends first and when; nil and Never when
// none is open.
func (t timers) next() (*Attempt, time.Duration) {
	var first *Attempt
	due := protection.Never
	for _, q := range t {
		if q.due < due {
			first, due = q.head, q.due
		}
	}
	return first, due
}
