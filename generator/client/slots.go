package client

import "time"

// slots adds up what came in a window of time that ends now, to one slot of it.
type slots struct {
	width   time.Duration // of a slot
	of      []int64
	total   int64
	current int64 // number of the slot that now falls into, since the start of the run
}

func newSlots(window time.Duration, n int) slots {
	return slots{width: max(window/time.Duration(n), 1), of: make([]int64, n)}
}

func (s *slots) add(now time.Duration, n int64) {
	s.advance(now)
	s.of[s.current%int64(len(s.of))] += n
	s.total += n
}

func (s *slots) sum(now time.Duration) int64 {
	s.advance(now)
	return s.total
}

// advance forgets what is older than the window. Time that goes back stands still.
func (s *slots) advance(now time.Duration) {
	slot := int64(now / s.width)
	if slot <= s.current {
		return
	}
	for n := min(slot-s.current, int64(len(s.of))); n > 0; n-- {
		old := &s.of[(slot-n+1)%int64(len(s.of))]
		s.total -= *old
		*old = 0
	}
	s.current = slot
}
