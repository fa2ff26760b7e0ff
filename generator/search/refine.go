package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"knee/analysis/stat"
)

// refineLimit ends a refinement whose trials keep contradicting each other.
const refineLimit = 60

// refine narrows the bracket: it re-tests what contradicts itself, bisects,
// settles both ends by the majority of three, and makes sure that the good end
// lasts.
func (s *Search) refine() (Trial, bool) {
	t, long, ok := s.nextRefine()
	if !ok {
		return s.refined()
	}
	if !s.fits(t, s.reserve()) {
		s.note("the budget did not suffice to narrow the bracket further")
		return s.refined()
	}
	s.long = long
	return t, true
}

// refined goes on to the next stage, if there is a bracket to go on from.
func (s *Search) refined() (Trial, bool) {
	low, high := bracket(s.levels())
	switch {
	case high < 0 && s.ceiling() > 0:
		s.finish(fmt.Sprintf("the generator could not offer %.6g per second", s.ceiling()))
	case high < 0 && s.higher() > 0:
		// The load that was too much was only disturbed: there is more above it.
		s.move(Coarse)
		s.queue = []float64{}
	case high < 0:
		s.finish("no load that was tried is too much for the server")
	case low < 0:
		s.finish("even the lowest load that was tried is too much for the server")
	case s.opt.Certify:
		s.move(Certify)
	default:
		s.move(Retention)
	}
	return Trial{}, false
}

// nextRefine returns the next refining trial and whether it is a long one.
func (s *Search) nextRefine() (t Trial, long, ok bool) {
	if s.count(Refine) >= refineLimit {
		s.note("trials kept contradicting each other: the refinement was given up")
		return Trial{}, false, false
	}
	s.exposed()
	levels := s.levels()
	if rate, ok := s.contradiction(levels); ok {
		l, _ := at(levels, rate)
		return s.again(rate, l.long)
	}
	low, high := bracket(levels)
	if low < 0 || high < 0 {
		return Trial{}, false, false
	}
	l, u := levels[low], levels[high]
	// A server that gives more past the bracket than the bad end asks for was
	// perhaps only disturbed there.
	votes := 3
	if top := slices.MaxFunc(levels[high:], byGoodput); top.goodput > 1.1*u.rate {
		votes = 5
	}
	width := s.opt.Width
	if u.goodput < l.goodput/2 {
		width /= 2 // past a cliff no goodput tells where in the bracket it is
	}
	switch {
	case u.rate > l.rate*(1+width)*(1+1e-9):
		return s.again(s.between(levels, l, u), l.long || u.long)
	case u.long && s.close(u) && !u.sure(3):
		return s.again(u.rate, true)
	case !l.long && s.hidden(levels, l, u):
		return s.again(l.rate, true)
	case !s.settled(l, 3) && l.good+l.bad <= u.good+u.bad:
		return s.again(l.rate, l.long)
	case !s.settled(u, votes):
		return s.again(u.rate, u.long)
	case !s.settled(l, 3):
		return s.again(l.rate, l.long)
	}
	return Trial{}, false, false
}

// settled reports whether the majority of n is settled. A long trial that is
// not close settles its load alone: it stands for several.
func (s *Search) settled(l level, n int) bool { return l.sure(n) || l.long && !s.close(l) }

// close reports whether a load is about as good as a load must be.
func (s *Search) close(l level) bool { return math.Abs(l.ratio-(1-s.opt.Eps)) < 0.03 }

func byGoodput(a, b level) int { return cmp.Compare(a.goodput, b.goodput) }

// again is a refining trial of either kind.
func (s *Search) again(rate float64, long bool) (Trial, bool, bool) {
	if long {
		return s.longer(rate), true, true
	}
	return s.trial(rate, 1, 200), false, true
}

// exposed distrusts the short trials around a load that was good in a short
// trial and bad in a long one, down to where they cannot have lived on a burst:
// what the server keeps up past the knee, or a little below for one that does
// not keep up anything.
func (s *Search) exposed() {
	levels := s.levels()
	low, high := bracket(levels)
	if s.exposure || low < 0 || high < 0 || levels[low].long || !levels[high].long {
		return
	}
	u := levels[high]
	if u.bad < 2 && s.close(u) {
		return // it may be an accident
	}
	s.exposure = true
	from := u.rate / (1 + 3*s.opt.Width)
	for _, x := range levels[high:] {
		if x.rate <= 2.5*u.rate && x.goodput > from && x.goodput < u.rate {
			from = x.goodput
		}
	}
	if levels[low].rate > from {
		s.distrust(from)
	}
}

// contradiction returns a load whose trials are tied, or one of a bad load and
// a good one above it that is not settled yet.
func (s *Search) contradiction(levels []level) (float64, bool) {
	firstBad := -1
	for i, l := range levels {
		switch {
		case l.good == l.bad:
			return l.rate, true
		case l.isBad() && firstBad < 0:
			firstBad = i
		case l.isGood() && firstBad >= 0:
			if s.forget(l.rate) {
				return levels[firstBad].rate, true
			}
			b := levels[firstBad]
			if !b.sure(3) && b.good+b.bad <= l.good+l.bad {
				return b.rate, true
			}
			if !l.sure(3) {
				return l.rate, true
			}
			if !b.sure(3) {
				return b.rate, true
			}
		}
	}
	return 0, false
}

// between returns a load inside the bracket. Where goodput past the bracket
// tells the knee, the bracket is closed around the load at which a server with
// that knee starts to be bad; otherwise it is halved, in log.
func (s *Search) between(levels []level, l, u level) float64 {
	half := math.Sqrt(l.rate * u.rate)
	if u.goodput < 0.8*l.goodput || s.guided >= 4 {
		return half
	}
	k, _ := s.Result()
	if k.RPS == 0 {
		return half
	}
	s.guided++
	width := 1 + s.opt.Width
	crossing := k.RPS / (1 - s.opt.Eps)
	for _, rate := range []float64{crossing / math.Sqrt(width), crossing / math.Sqrt(width) * width} {
		if rate > l.rate*(1+s.opt.Width/2) && rate < u.rate/(1+s.opt.Width/2) {
			return rate
		}
	}
	switch {
	case crossing < l.rate*width && l.rate*width < u.rate:
		return l.rate * width
	case crossing > u.rate/width && u.rate/width > l.rate:
		return u.rate / width
	}
	return half
}

// hidden reports whether the good end carried more than the server keeps up
// past it. Then it may live on a burst that was not used up, or on a queue that
// had not filled yet, and only a longer trial can tell.
func (s *Search) hidden(levels []level, l, u level) bool {
	return kept(levels, u.rate) < 0.97*l.goodput && s.longer(l.rate).Settle >= 3*s.settle()/2
}

// kept is the median goodput of the bad levels from 1.3 to 2.6 times rate,
// where a burst is used up at once, or from rate on if there are none.
func kept(levels []level, rate float64) float64 {
	var past, far []float64
	for _, x := range levels {
		if x.rate >= rate && x.rate <= 2.6*rate && x.isBad() {
			past = append(past, x.goodput)
			if x.rate >= 1.3*rate {
				far = append(far, x.goodput)
			}
		}
	}
	if len(far) > 0 {
		return stat.Median(far)
	}
	return stat.Median(past)
}

// longer is a trial of which the first half is not judged: three times as long
// as an ordinary one, or four where the server keeps up nearly as much past the
// bracket, since what is hardly too much takes long to use up a burst. It is
// shorter when the budget does not allow that.
func (s *Search) longer(rate float64) Trial {
	t := s.trial(rate, 1, 200)
	total := 3 * (t.Settle + t.Measure)
	if kept(s.levels(), rate) > 0.8*rate {
		total = 4 * (t.Settle + t.Measure)
	}
	left := s.opt.Budget - s.spent - s.reserve() - s.cost(Trial{})
	total = max(t.Settle+t.Measure, min(total, left))
	measure := max(t.Measure, total/2)
	return Trial{Rate: rate, Settle: (total - measure).Round(time.Millisecond), Measure: measure.Round(time.Millisecond)}
}

// reserve is what the refinement leaves for the loads past the knee, and to
// repeat two of them; on a tight budget for three of them.
func (s *Search) reserve() time.Duration {
	if s.opt.MaxX <= 1 {
		return 0
	}
	n := time.Duration(len(multiples) + 3)
	if s.tight() {
		n = 3
	}
	return min(n*s.cost(s.trial(max(1, 2*s.opt.Guess), 0.8, 200)), s.opt.Budget*4/10)
}

// count is the number of trials of a stage so far.
func (s *Search) count(stage string) int {
	n := 0
	for i := range s.log {
		if s.log[i].trial.Stage == stage {
			n++
		}
	}
	return n
}
