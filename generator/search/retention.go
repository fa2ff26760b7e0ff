package search

import (
	"fmt"
	"math"
	"slices"
)

// retentionPasses is how often the loads past the knee are offered if the
// budget allows.
const retentionPasses = 2

// multiples of the bracket's upper end that show how far goodput holds, the
// most telling first: a small budget does without the rest. The highest load is
// MaxX itself and comes before them all.
var multiples = []float64{3, 1.5, 5, 2, 7}

// retention offers the loads past the knee in random order, each once, those
// that contradict others again, and then all again. Loads beyond a first
// collapse are left for the end, once and ascending: a server that is down
// already may take long to come back.
func (s *Search) retention() (Trial, bool) {
	for {
		rate, ok := s.nextRetention()
		if !ok {
			break
		}
		if !s.allowed(rate) {
			continue
		}
		t := s.trial(rate, 0.8, 200)
		if !s.fits(t, 0) {
			s.finish("the budget is used up")
			return Trial{}, false
		}
		return t, true
	}
	switch c := s.ceiling(); {
	case c > 0:
		s.finish(fmt.Sprintf("the generator could not offer %.6g per second", c))
	case s.left:
		s.finish("the budget did not suffice for all loads past the knee")
	default:
		s.finish("the bracket is settled, and the loads past it were offered")
	}
	return Trial{}, false
}

// nextRetention returns the next load to offer.
func (s *Search) nextRetention() (float64, bool) {
	for len(s.queue) == 0 {
		if s.passes > 0 {
			if rate, ok := s.doubtful(); ok {
				return rate, true
			}
		}
		if s.passes == retentionPasses {
			return 0, false
		}
		s.queue = s.pass()
		s.passes++
	}
	s.postpone()
	rate := s.queue[0]
	s.queue = s.queue[1:]
	return rate, true
}

// doubtful returns a load that seems to keep less than it should: less than
// others, or less in one of its trials than in the other. It is repeated once
// if it is the highest, and up to five trials if a higher one keeps more. A
// disturbance outlasts a trial, so another load comes between if there is one.
func (s *Search) doubtful() (float64, bool) {
	levels := s.levels()
	_, high := bracket(levels)
	if high < 0 {
		return 0, false
	}
	past := levels[high:]
	best := slices.MaxFunc(past, byGoodput).goodput
	last := s.log[len(s.log)-1].trial.Rate
	most, found := 0.0, 0.0
	for _, l := range slices.Backward(past) {
		n := l.good + l.bad
		doubt := n < 2 && l.goodput < 0.9*best || n < 5 && l.goodput < 0.9*most || n == 2 && s.disagree(l.rate)
		if doubt && !l.long && s.allowed(l.rate) && (found == 0 || found == last) {
			found = l.rate
		}
		most = max(most, l.goodput)
	}
	return found, found > 0
}

// disagree reports whether the goodput of a load differs by more than a tenth
// between its trials.
func (s *Search) disagree(rate float64) bool {
	least, most := math.Inf(1), 0.0
	for i := range s.log {
		if e := &s.log[i]; e.trial.Rate == rate && !e.seen.Limited && !e.stale {
			least, most = min(least, e.seen.Goodput), max(most, e.seen.Goodput)
		}
	}
	return least < 0.9*most
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
	room := s.opt.Budget - s.spent
	fit := loads[:0]
	for _, rate := range loads {
		if c := s.cost(s.trial(rate, 0.8, 200)); c <= room {
			fit, room = append(fit, rate), room-c
		} else if s.passes == 0 {
			s.left = true
		}
	}
	s.rng.Shuffle(len(fit), func(i, j int) { fit[i], fit[j] = fit[j], fit[i] })
	return fit
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
