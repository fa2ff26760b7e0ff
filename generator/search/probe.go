package search

import "time"

// probeStart is the first load when nothing is known, in requests per second.
const probeStart = 10

// growth is the factor between probes. It is larger on a small budget: a guess
// that is far too high costs one trial, many small steps cost them all.
func (s *Search) growth() float64 {
	if s.tight() {
		return 4
	}
	return 2
}

// probe multiplies the load until it is bad, with short trials. When the first
// load is bad it is repeated, and two higher ones are tried, before it goes
// down: a cold server is bad at any load, and warms up sooner at a higher one.
func (s *Search) probe() (Trial, bool) {
	rate, ok := s.nextProbe()
	if ok && s.allowed(rate) {
		measure := max(min(max(500*time.Millisecond, s.enough(50, rate)), 2*time.Second), s.few(rate))
		t := Trial{Rate: rate, Settle: s.settle(), Measure: measure.Round(time.Millisecond)}
		if s.fits(t, 0) {
			return t, true
		}
		s.finish("the budget ran out before a load was found that the server cannot carry")
		return Trial{}, false
	}
	s.opt.Guess = s.guess()
	s.move(Coarse)
	return Trial{}, false
}

// nextProbe returns the next load to probe, and false when there is a bad one
// above a good one or nothing is left to try.
func (s *Search) nextProbe() (float64, bool) {
	start := s.clamp(probeStart)
	if s.opt.Min > 0 {
		start = s.opt.Min
	} else if s.opt.Max > 0 {
		start = min(start, s.opt.Max/8)
	}
	if len(s.log) == 0 {
		return start, true
	}
	levels := s.levels()
	low, high := bracket(levels)
	if len(levels) == 0 { // not even the first could be offered
		return start, s.ceiling() == 0
	}
	if low >= 0 && s.forgetBad(levels[low].rate) {
		levels = s.levels()
		low, high = bracket(levels)
	}
	switch {
	case low >= 0 && high >= 0:
		u := levels[high]
		if u.good+u.bad < 2 {
			return u.rate, true // one bad trial may be an accident
		}
		return 0, false
	case low >= 0:
		top := levels[len(levels)-1]
		if !top.isGood() {
			return top.rate, true
		}
		next := s.clamp(s.growth() * top.rate)
		return next, next > top.rate
	}
	// Everything was bad so far.
	up := []float64{start, start, 2 * start, 4 * start}
	if n := len(s.log); n < len(up) {
		if next := s.clamp(up[n]); next > levels[len(levels)-1].rate || n == 1 {
			return next, true
		}
	}
	next := levels[0].rate / 2
	return next, next >= start/1024 && s.allowed(next)
}

// forgetBad drops the bad trials before the first good one, once: they may have
// been warm-up, and if they were not, the loads are soon tried again.
func (s *Search) forgetBad(rate float64) bool {
	return s.forget(4 * rate)
}

// guess is the capacity by what was probed.
func (s *Search) guess() float64 {
	levels := s.levels()
	low, high := bracket(levels)
	switch {
	case low >= 0 && high >= 0:
		return max(levels[low].rate, min(levels[high].rate, levels[high].goodput))
	case low >= 0:
		return levels[low].rate
	case len(levels) > 0:
		return levels[0].rate
	}
	return s.clamp(probeStart)
}
