package search

import (
	"fmt"
	"slices"
)

// retentionPasses is how often the loads past the knee are offered if the
// budget allows.
const retentionPasses = 2

// multiples of the bracket's upper end that show how far goodput holds, the
// most telling first: a small budget does without the rest. The highest load is
// MaxX itself and comes before them all.
var multiples = []float64{3, 1.5, 5, 2, 7}

// retention offers the loads past the knee in random order, each once and then
// again. Those beyond a first collapse are left for the end, once and
// ascending: a server that is down already may take long to come back.
func (s *Search) retention() (Trial, bool) {
	for s.queue != nil || s.passes < retentionPasses {
		if s.queue == nil {
			s.queue = s.pass()
			s.passes++
		}
		s.postpone()
		for len(s.queue) > 0 {
			rate := s.queue[0]
			s.queue = s.queue[1:]
			if !s.allowed(rate) {
				continue
			}
			t := s.trial(rate, 0.8)
			if !s.fits(t, 0) {
				s.finish("the budget is used up")
				return Trial{}, false
			}
			return t, true
		}
		s.queue = nil
	}
	if c := s.ceiling(); c > 0 {
		s.finish(fmt.Sprintf("the generator could not offer %.6g per second", c))
	} else {
		s.finish("the bracket is settled, and the loads past it were offered")
	}
	return Trial{}, false
}

// pass returns the loads of a pass in the order in which they are offered: as
// many as the budget has room for.
func (s *Search) pass() []float64 {
	levels := s.levels()
	_, high := bracket(levels)
	if high < 0 || s.opt.MaxX <= 1 {
		return []float64{}
	}
	u := levels[high].rate
	loads := []float64{s.clamp(s.opt.MaxX * u)}
	for _, m := range multiples {
		if rate := m * u; m < s.opt.MaxX && rate < loads[0]*(1-1e-9) {
			loads = append(loads, rate)
		}
	}
	loads = slices.DeleteFunc(loads, func(rate float64) bool {
		return rate <= u*(1+1e-9) || s.passes > 0 && s.collapsed(levels, rate)
	})
	n, cost := 0, s.spent
	for n < len(loads) {
		if cost += s.cost(s.trial(loads[n], 0.8)); cost > s.opt.Budget {
			break
		}
		n++
	}
	loads = loads[:n]
	s.rng.Shuffle(n, func(i, j int) { loads[i], loads[j] = loads[j], loads[i] })
	return loads
}

// postpone moves the loads beyond a collapse to the end of the queue,
// ascending.
func (s *Search) postpone() {
	levels := s.levels()
	slices.SortStableFunc(s.queue, func(a, b float64) int {
		x, y := s.collapsed(levels, a), s.collapsed(levels, b)
		switch {
		case x && y:
			if a < b {
				return -1
			}
			return 1
		case x:
			return 1
		case y:
			return -1
		}
		return 0
	})
}

// collapsed reports whether a load no higher than rate left less than half of
// the most goodput.
func (s *Search) collapsed(levels []level, rate float64) bool {
	most := 0.0
	for _, l := range levels {
		most = max(most, l.goodput)
		if l.rate < rate && l.goodput < most/2 {
			return true
		}
	}
	return false
}
