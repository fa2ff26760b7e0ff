package order

import (
	"math"
	"time"
)

// drr is deficit round robin (Shreedhar and Varghese, SIGCOMM 1995). In its turn
// a flow is granted its quantum and served as long as its first request costs no
// more than it may spend; what is left over counts in its next turn, unless it
// has become empty. A turn stays open between two calls of next: the quantum is
// granted once.
//
// The authors want a quantum of at least the largest cost, because turns that
// serve nothing take time. Here, rounds in which all turns would be in vain are
// reckoned instead of made, with the same outcome, so that any quantum will do.
type drr struct {
	quantum float64
	cost    func(*flow) float64 // of its first request
	turn    *flow               // whose turn is open, or next; nil when none waits
	open    bool
	n       int
}

// grant returns what f may spend in one turn.
func (s *drr) grant(f *flow) float64 { return s.quantum * f.weight }

// join puts f last: behind all but the one whose turn is open.
func (s *drr) join(_ time.Duration, f *flow) {
	s.n++
	if s.turn == nil {
		s.turn, f.next, f.previous = f, f, f
		return
	}
	f.next, f.previous = s.turn, s.turn.previous
	f.previous.next, f.next.previous = f, f
}

func (s *drr) next(time.Duration, bool) *flow {
	for turns := 0; ; turns++ {
		f := s.turn
		if !s.open {
			if turns > s.n {
				return s.skip()
			}
			f.deficit += s.grant(f)
			s.open = true
		}
		if s.cost(f) <= f.deficit {
			return f
		}
		s.pass()
	}
}

// pass ends a turn.
func (s *drr) pass() { s.turn, s.open = s.turn.next, false }

// skip makes all turns up to the first one that serves something, which it opens.
func (s *drr) skip() *flow {
	var first *flow
	rounds := math.Inf(1)
	f := s.turn
	for range s.n {
		if lacks := math.Ceil((s.cost(f) - f.deficit) / s.grant(f)); lacks < rounds {
			first, rounds = f, lacks
		}
		f = f.next
	}
	f = s.turn
	turns := rounds
	for range s.n {
		f.deficit += turns * s.grant(f)
		if f == first {
			turns--
		}
		f = f.next
	}
	first.deficit = max(first.deficit, s.cost(first)) // whatever was lost in rounding
	s.turn, s.open = first, true
	return first
}

func (s *drr) charge(f *flow, cost float64) {
	f.deficit -= cost
	if f.n == 0 {
		s.leave(f)
	} else if s.cost(f) > f.deficit {
		s.pass()
	}
}

func (s *drr) lose(f *flow, _ bool) {
	if f.n == 0 {
		s.leave(f)
	}
}

// leave takes f out of the round.
func (s *drr) leave(f *flow) {
	s.n--
	if f == s.turn {
		s.pass()
	}
	if s.n == 0 {
		s.turn = nil
	}
	f.previous.next, f.next.previous = f.next, f.previous
	f.next, f.previous = nil, nil
}

// rests is never so: what a flow was owed ends with its queue.
func (s *drr) rests(*flow) bool { return false }
