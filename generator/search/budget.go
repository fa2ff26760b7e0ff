package search

import (
	"math"
	"time"

	"knee/analysis/stat"
)

// The nominal number of trials by which a budget is divided, and of units of
// measured time in them: six coarse, eight refining (one of them four times as
// long) and nine of retention.
const (
	nominalTrials = 24
	nominalUnits  = 28
)

// DefaultBudget is the time that a search with these options takes: about 55 s
// for a timeout of 100 ms and a guess of 1000 per second.
func DefaultBudget(o Options) time.Duration {
	s := Search{opt: o}
	if s.opt.Timeout == 0 {
		s.opt.Timeout = time.Second
	}
	if s.opt.Width == 0 {
		s.opt.Width = 0.05
	}
	unit := max(1500*time.Millisecond, 3*s.opt.Timeout)
	if o.Guess > 0 {
		unit = max(unit, min(s.enough(200, o.Guess), 10*time.Second))
	}
	total := nominalTrials*s.overhead() + nominalUnits*unit
	if o.Guess == 0 {
		total += 10 * (s.overhead() + unit)
	}
	if o.Certify {
		settle, measure := s.full(o.Guess)
		total += certifyLimit * (settle + measure + s.opt.Timeout + s.opt.Grace)
	}
	return total.Round(time.Second)
}

// unitFor divides a budget: it is the measured time of a refining trial.
func (s *Search) unitFor(budget time.Duration) time.Duration {
	_, longest := s.full(s.opt.Guess)
	shortest := min(longest, max(400*time.Millisecond, s.opt.Timeout, min(3*s.opt.Timeout, budget/14)))
	return max(shortest, min(longest, (budget-nominalTrials*s.overhead())/nominalUnits))
}

// settle is the time for queues to fill and connections to open: two timeouts,
// and less on a small budget.
func (s *Search) settle() time.Duration {
	least, ordinary := 100*time.Millisecond, 200*time.Millisecond
	if !s.opt.Resettable {
		ordinary = 500 * time.Millisecond
	}
	ordinary = max(2*s.opt.Timeout, ordinary)
	if s.opt.Budget == 0 {
		return ordinary
	}
	return min(ordinary, max(least, s.opt.Timeout/2, s.opt.Budget/40))
}

// tight reports whether the budget is far too small for the nominal number of
// trials: then the grid is shorter, and fewer loads past the knee are offered.
func (s *Search) tight() bool { return s.opt.Budget < 18*(s.overhead()+s.unit) }

// overhead is what a trial costs beside its measured time.
func (s *Search) overhead() time.Duration { return s.settle() + s.opt.Timeout + s.opt.Grace }

// full is a trial of the length that the analysis asks for when time does not
// matter: an unbounded queue hides an overload for as long as its deadline
// allows, so that a trial of T overstates the knee by timeout/T.
func (s *Search) full(rate float64) (settle, measure time.Duration) {
	measure = max(3*time.Second, time.Duration(float64(s.opt.Timeout)/s.opt.Width))
	if rate > 0 {
		measure = max(measure, min(s.enough(400, rate), time.Minute))
	}
	return max(time.Second, 2*s.opt.Timeout), measure
}

// enough is the time in which n requests arrive.
func (s *Search) enough(n, rate float64) time.Duration {
	return time.Duration(min(n/rate*float64(time.Second), math.MaxInt64/4))
}

// few is the time in which a few requests arrive: fewer say nothing at all.
func (s *Search) few(rate float64) time.Duration { return min(s.enough(10, rate), 20*time.Second) }

// trial is one of ordinary length at this rate: share of the unit, or up to
// three times that for as many requests as are wanted, but at least few.
func (s *Search) trial(rate, share, requests float64) Trial {
	measure := time.Duration(share * float64(s.unit))
	measure = max(measure, min(3*measure, s.enough(requests, rate)), s.few(rate))
	return Trial{Rate: rate, Settle: s.settle(), Measure: measure.Round(time.Millisecond)}
}

// cost is the time that a trial takes with draining. Until a load as high was
// tried, that is at least the time until the last answer cannot come any more,
// and at least as long as the server took after a lesser load. Where draining
// takes longer the more was offered in excess, as with a server that refuses
// nothing, it is extrapolated from there.
func (s *Search) cost(t Trial) time.Duration {
	drain := s.opt.Timeout + s.opt.Grace
	low, _ := bracket(s.levels())
	if low < 0 {
		return t.Settle + t.Measure + drain
	}
	carried := s.levels()[low].rate
	excess := func(t Trial) float64 { return (t.Rate - carried) * (t.Settle + t.Measure).Seconds() }
	mine, nearest := excess(t), 0.0
	var x, y []float64
	lesser := time.Duration(0)
	for i := range s.log {
		e := &s.log[i]
		theirs := excess(e.trial)
		switch {
		case e.seen.Elapsed == 0:
			continue
		case theirs >= mine:
			drain = min(drain, e.drained())
		}
		if theirs <= mine {
			lesser = max(lesser, e.drained())
			nearest = max(nearest, theirs)
			// What is hardly too much says little about what far too much does.
			if e.trial.Rate > 1.4*carried {
				x, y = append(x, theirs), append(y, e.drained().Seconds())
			}
		}
	}
	drain = max(drain, lesser)
	if slope := stat.TheilSen(x, y).Value; slope > 0 {
		drain += time.Duration(min(slope*(mine-nearest), 3600) * float64(time.Second))
	}
	return t.Settle + t.Measure + drain
}

// drained is the time that passed after the trial until the server was idle.
func (e *entry) drained() time.Duration {
	return max(0, e.seen.Elapsed-e.trial.Settle-e.trial.Measure)
}

// fits reports whether the trial ends within the budget when reserve is kept.
func (s *Search) fits(t Trial, reserve time.Duration) bool {
	return s.spent+s.cost(t)+reserve <= s.opt.Budget
}

// Budget is the limit of the whole search, as given or by default.
func (s *Search) Budget() time.Duration { return s.opt.Budget }

// Spent is what the search took so far.
func (s *Search) Spent() time.Duration { return s.spent }

// Planned estimates the number of trials of the whole search and the time they
// take, never more than Budget. It may grow while the search goes on, because
// the loads depend on what was seen.
func (s *Search) Planned() (trials int, total time.Duration) {
	n, d := s.Remaining()
	return len(s.log) + n, s.spent + d
}

// Remaining estimates what is still to come. It is 0 when the search is over.
func (s *Search) Remaining() (trials int, total time.Duration) {
	if s.why != "" {
		return 0, 0
	}
	counts := map[string]int{Probe: 8, Coarse: 6, Refine: 9, Certify: 0, Retention: 9}
	if s.opt.Certify {
		counts[Certify] = certifyLimit
	}
	done := 0
	for i := range s.log {
		if s.log[i].trial.Stage == s.stage {
			done++
		}
	}
	reached := false
	for _, stage := range []string{Probe, Coarse, Refine, Certify, Retention} {
		switch {
		case stage == s.stage:
			reached = true
			trials += max(1, counts[stage]-done)
		case reached:
			trials += counts[stage]
		}
	}
	each := s.overhead() + s.unit
	total = min(time.Duration(trials)*each, s.opt.Budget-s.spent)
	return max(1, min(trials, int(total/each))), total
}
