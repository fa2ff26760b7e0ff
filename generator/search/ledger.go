package search

import (
	"cmp"
	"slices"

	"knee/analysis/knee"
	"knee/analysis/stat"
)

// entry is one trial with what became of it.
type entry struct {
	trial Trial
	seen  Observation
	long  bool // ran longer, to see past bursts and hidden backlogs
	stale bool // taken for warm-up, or shown up by a longer trial
}

// ratio is goodput over offered load.
func (e *entry) ratio() float64 {
	switch {
	case e.seen.Sent > 0:
		return float64(e.seen.Good) / float64(e.seen.Sent)
	case e.seen.Offered > 0:
		return e.seen.Goodput / e.seen.Offered
	}
	return 0
}

// good reports whether the trial kept at least 1-eps of the baseline. In a
// trial of few requests one that is lost decides nothing.
func (e *entry) good(baseline, eps float64) bool {
	if e.seen.Growing {
		return false
	}
	least := (1 - eps) * baseline
	if n := e.seen.Sent; n >= 10 && n < 100 {
		return float64(e.seen.Good+1) >= least*float64(n)
	}
	return e.ratio() >= least
}

// point is the trial as the analysis takes it.
func (e *entry) point() knee.Point {
	return knee.Point{
		Offered: e.seen.Offered, Goodput: e.seen.Goodput, Intended: e.trial.Rate, P99: e.seen.P99,
		Sent: e.seen.Sent, Good: e.seen.Good, Growing: e.seen.Growing, Limited: e.seen.Limited,
	}
}

// level is what the trials of one load say so far.
type level struct {
	rate      float64
	good, bad int     // trials
	goodput   float64 // median
	ratio     float64 // median
	long      bool    // only the long trials count
}

func (l level) isGood() bool { return l.good > l.bad }
func (l level) isBad() bool  { return l.bad > l.good }

// sure reports whether the majority of n, which is odd, is settled.
func (l level) sure(n int) bool { return max(l.good, l.bad) > n/2 }

// levels returns the loads tried, ascending, without those that could not be
// offered. The long trials of a load supersede its short ones.
func (s *Search) levels() []level {
	rates, trials := s.byRate()
	base := baseline(rates, trials)
	levels := make([]level, len(rates))
	for i, rate := range rates {
		l := level{rate: rate}
		l.long = slices.ContainsFunc(trials[rate], func(e *entry) bool { return e.long })
		var goodput, ratio []float64
		for _, e := range trials[rate] {
			if l.long && !e.long {
				continue
			}
			if e.good(base, s.opt.Eps) {
				l.good++
			} else {
				l.bad++
			}
			goodput, ratio = append(goodput, e.seen.Goodput), append(ratio, e.ratio())
		}
		l.goodput, l.ratio = stat.Median(goodput), stat.Median(ratio)
		levels[i] = l
	}
	return levels
}

// byRate groups the trials that count by their loads, which are ascending.
func (s *Search) byRate() (rates []float64, trials map[float64][]*entry) {
	trials = map[float64][]*entry{}
	for i := range s.log {
		e := &s.log[i]
		if e.stale || e.seen.Limited {
			continue
		}
		if trials[e.trial.Rate] == nil {
			rates = append(rates, e.trial.Rate)
		}
		trials[e.trial.Rate] = append(trials[e.trial.Rate], e)
	}
	slices.Sort(rates)
	return rates, trials
}

// baseline is the best ratio of the three lowest loads, as in knee.Find, but at
// least leastBaseline: below that nothing is good.
func baseline(rates []float64, trials map[float64][]*entry) float64 {
	best := leastBaseline
	for _, rate := range rates[:min(3, len(rates))] {
		var ratio []float64
		for _, e := range trials[rate] {
			ratio = append(ratio, e.ratio())
		}
		best = max(best, stat.Median(ratio))
	}
	return min(1, best)
}

// leastBaseline is the ratio of good requests below which a server is not
// healthy at any load.
const leastBaseline = 0.9

// bracket is the lowest bad level with the largest good one below it, as
// indices of levels; -1 when there is none. Without a bad level low is the
// highest good one.
func bracket(levels []level) (low, high int) {
	low, high = -1, -1
	for i, l := range levels {
		switch {
		case l.isBad():
			return low, i
		case l.isGood():
			low = i
		}
	}
	return low, -1
}

// at returns the level of a rate.
func at(levels []level, rate float64) (level, bool) {
	i, ok := slices.BinarySearchFunc(levels, rate, func(l level, r float64) int { return cmp.Compare(l.rate, r) })
	if !ok {
		return level{}, false
	}
	return levels[i], true
}

// superseded reports whether the trial is left out of the result because others
// say more: a probe; a short trial of a load that longer ones tried; a short
// one just past a bracket that only long trials could find; or a good one that
// was too short to be trusted, when no longer one could be afforded.
func (s *Search) superseded(e *entry, levels []level) bool {
	if e.long || e.seen.Limited {
		return false
	}
	if e.trial.Stage == Probe && s.count(Coarse) >= 4 {
		return true
	}
	here, ok := at(levels, e.trial.Rate)
	if ok && here.long {
		return true
	}
	low, high := bracket(levels)
	if low < 0 || high < 0 {
		return false
	}
	l, u := levels[low], levels[high]
	if u.long && e.trial.Rate > l.rate && e.trial.Rate < 1.45*u.rate {
		return true
	}
	from, suspect := s.untrusted(levels, l, u)
	return suspect && here.isGood() && e.trial.Rate > from && e.trial.Rate > levels[0].rate
}

// untrusted returns the load from which on short good trials may have lived on
// a burst or a queue, if the good end of the bracket is such a one: what the
// server keeps up past the bracket, or, when that is little, what a queue of
// one timeout can hide for as long as a trial lasts.
func (s *Search) untrusted(levels []level, l, u level) (from float64, suspect bool) {
	p := kept(levels, u.rate)
	if s.stage != Retention || l.long || !(p < 0.97*l.goodput) {
		return 0, false
	}
	if p >= 0.7*l.goodput {
		return p, true
	}
	t := s.trial(l.rate, 1, 200)
	return u.rate / (1 + float64(s.opt.Timeout)/float64(t.Settle+t.Measure)), true
}

// ceiling is the lowest load that the generator could not offer, once it has
// failed twice; 0: none.
func (s *Search) ceiling() float64 {
	n, lowest := 0, 0.0
	for i := range s.log {
		if e := &s.log[i]; e.seen.Limited {
			if n++; lowest == 0 || e.trial.Rate < lowest {
				lowest = e.trial.Rate
			}
		}
	}
	if n < 2 {
		return 0
	}
	return lowest
}

// allowed reports whether a load is within the limits and not known to be more
// than the generator can offer.
func (s *Search) allowed(rate float64) bool {
	c := s.ceiling()
	return rate > 0 && rate >= s.opt.Min && (s.opt.Max == 0 || rate <= s.opt.Max) && (c == 0 || rate < c)
}

// clamp moves a load to the nearer limit.
func (s *Search) clamp(rate float64) float64 {
	if s.opt.Max > 0 {
		rate = min(rate, s.opt.Max)
	}
	return max(rate, s.opt.Min)
}

// firstGood is the index of the first good trial, len(log) without one.
func (s *Search) firstGood() int {
	for i := range s.log {
		if e := &s.log[i]; !e.seen.Limited && e.good(leastBaseline, s.opt.Eps) {
			return i
		}
	}
	return len(s.log)
}

// forget marks the trials before the first good one as warm-up when they were
// bad at loads up to rate, which was good later. It reports whether there were
// any.
func (s *Search) forget(rate float64) bool {
	any := false
	for i := range s.log[:s.firstGood()] {
		if e := &s.log[i]; !e.stale && !e.seen.Limited && e.trial.Rate <= rate {
			e.stale, any = true, true
		}
	}
	if any {
		s.note("the first trials were worse than later ones at the same or higher loads: they were taken for warm-up and left out")
	}
	return any
}

// distrust drops the short good trials of loads from low on, which a long trial
// nearby has shown to be too short.
func (s *Search) distrust(low float64) {
	base := baseline(s.byRate())
	for i := range s.log {
		if e := &s.log[i]; !e.long && e.trial.Rate > low && e.good(base, s.opt.Eps) {
			e.stale = true
		}
	}
	s.note("short trials looked better than long ones: a burst or a queue hides the overload for a while")
}

// note adds a remark once.
func (s *Search) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}
