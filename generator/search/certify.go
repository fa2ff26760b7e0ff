package search

import (
	"fmt"

	"knee/analysis/stat"
)

// The rules of certification: wrong at either end with a chance of alpha/2, an
// end that is undecided after endLimit trials sits on the crossing, and
// certifyLimit trials are enough.
const (
	alpha        = 0.05
	endLimit     = 24
	certifyLimit = 240
)

// end is one end of the bracket with its evidence.
type end struct {
	rate float64
	test stat.EProcess
}

// certify goes on at both ends of the bracket, in random order and by turns, so
// that a disturbance meets both, until a sign test is sure that the lower one
// is good and the upper one bad. An end that turns out to be the other kind, or
// to be neither, moves.
func (s *Search) certify() (Trial, bool) {
	if s.ends[0].rate == 0 {
		levels := s.levels()
		low, high := bracket(levels)
		s.ends = [2]end{{rate: levels[low].rate}, {rate: levels[high].rate}}
	}
	s.moveEnds()
	sure := [2]bool{s.ends[0].test.IsGood(alpha / 2), s.ends[1].test.IsBad(alpha / 2)}
	switch {
	case sure[0] && sure[1]:
		s.certified = true
		s.move(Retention)
		return Trial{}, false
	case s.count(Certify) >= certifyLimit:
		s.note(fmt.Sprintf("the bracket was not certified in %d trials", certifyLimit))
		s.move(Retention)
		return Trial{}, false
	}
	if len(s.queue) == 0 {
		s.queue = []float64{s.ends[0].rate, s.ends[1].rate}
		if s.rng.IntN(2) == 1 {
			s.queue[0], s.queue[1] = s.queue[1], s.queue[0]
		}
	}
	rate := s.queue[0]
	s.queue = s.queue[1:]
	if !s.allowed(rate) {
		s.note("the bracket was not certified: its end cannot be offered")
		s.move(Retention)
		return Trial{}, false
	}
	settle, measure := s.full(rate)
	t := Trial{Rate: rate, Settle: settle, Measure: measure}
	if !s.fits(t, s.reserve()) {
		s.note("the bracket was not certified within the budget")
		s.move(Retention)
		return Trial{}, false
	}
	return t, true
}

// moveEnds moves an end that was certified to be the other kind, or that is
// still undecided after endLimit trials.
func (s *Search) moveEnds() {
	width := 1 + s.opt.Width
	low, high := &s.ends[0], &s.ends[1]
	switch {
	case low.test.IsBad(alpha / 2):
		*high = *low
		*low = end{rate: low.rate / width}
	case high.test.IsGood(alpha / 2):
		*low = *high
		*high = end{rate: high.rate * width}
	case low.test.Trials >= endLimit && !low.test.IsGood(alpha/2):
		*low = end{rate: low.rate / width}
	case high.test.Trials >= endLimit && !high.test.IsBad(alpha/2):
		*high = end{rate: high.rate * width}
	default:
		return
	}
	s.queue = nil
}

// testify adds a trial of certification to the evidence of its end.
func (s *Search) testify(rate float64, good bool) {
	for i := range s.ends {
		if s.ends[i].rate == rate {
			s.ends[i].test.Add(good)
		}
	}
}
