package search

import (
	"math"
	"slices"
)

// coarse offers a geometric grid around the guess: the lowest load first, which
// warms the server up and gives the baseline, then the others in random order.
// Then it goes on upwards until the highest load is bad, and downwards until
// the lowest is good.
func (s *Search) coarse() (Trial, bool) {
	if s.queue == nil {
		s.queue = s.grid()
	}
	for len(s.queue) > 0 {
		rate := s.queue[0]
		s.queue = s.queue[1:]
		if !s.allowed(rate) {
			continue
		}
		return s.afford(s.trial(rate, 0.8, 100), "the budget ran out before the loads around the guess were tried")
	}
	if rate, ok := s.beyond(); ok {
		return s.afford(s.trial(rate, 0.8, 100), "the budget ran out before a bracket was found")
	}
	s.move(Refine)
	return Trial{}, false
}

// afford returns t, or ends the search when it does not fit.
func (s *Search) afford(t Trial, why string) (Trial, bool) {
	if !s.fits(t, 0) {
		s.finish(why)
		return Trial{}, false
	}
	return t, true
}

// ratio of the coarse grid: three halvings of it make a narrow bracket. One that is to
// be narrower than usual takes more of them, and no more loads.
func (s *Search) ratio() float64 { return math.Pow(1+max(s.opt.Width, usual), 8) }

// grid returns the coarse loads in the order in which they are offered. Loads
// that a probe has already settled are left out.
func (s *Search) grid() []float64 {
	from := 0.25 * s.opt.Guess
	if len(s.log) > 0 || s.tight() {
		from = 0.5 * s.opt.Guess
	}
	grid := []float64{}
	for rate := from; rate < 2*s.opt.Guess; rate *= s.ratio() {
		grid = append(grid, s.clamp(rate))
	}
	slices.Sort(grid)
	grid = slices.Compact(grid)
	rest := grid[1:]
	s.rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return grid
}

// beyond returns the next load outside those tried: above while the highest is
// good, below while none is good.
func (s *Search) beyond() (float64, bool) {
	levels := s.levels()
	if len(levels) == 0 {
		if c := s.ceiling(); c > 0 {
			return c / 4, s.allowed(c/4) && len(s.log) < 12
		}
		return s.clamp(s.opt.Guess), len(s.log) < 12
	}
	low, high := bracket(levels)
	if next := s.higher(); next > 0 {
		return next, true
	}
	if low < 0 && !slices.ContainsFunc(levels, level.isGood) {
		bottom := levels[0]
		next := s.clamp(min(bottom.rate/s.ratio(), max(bottom.goodput, bottom.rate/8)))
		// A server that answers nothing at a thousandth of the guess is down.
		return next, next < bottom.rate && next > s.opt.Guess/1024 && s.allowed(next)
	}
	if low == 0 && high == 1 {
		// The baseline takes a load that is well below the knee.
		next := s.clamp(levels[0].rate / 2)
		return next, next < levels[0].rate
	}
	return 0, false
}

// higher returns the next load above those tried while the highest of them is not bad; 0
// when there is none.
func (s *Search) higher() float64 {
	levels := s.levels()
	top := levels[len(levels)-1]
	if top.isBad() {
		return 0
	}
	step := s.ratio()
	if top.rate > 4*s.opt.Guess {
		step = 2
	}
	if next := s.clamp(top.rate * step); next > top.rate && s.allowed(next) {
		return next
	}
	return 0
}
