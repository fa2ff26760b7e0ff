package protection

import "time"

// slidingSum adds up what came in a window of time that ends now, to a tenth of
// the window.
type slidingSum struct {
	slot    time.Duration // a tenth of the window
	sums    [10]float64
	current int64 // number of the slot that now falls into, since the start of the run
	last    time.Duration
}

func newSlidingSum(window time.Duration) slidingSum {
	return slidingSum{slot: window / 10}
}

func (s *slidingSum) add(now time.Duration, x float64) {
	s.advance(now)
	s.sums[s.current%int64(len(s.sums))] += x
}

// perSecond returns the mean rate over the window. In the first window of a run it
// is that over a whole one, so that few are never much.
func (s *slidingSum) perSecond(now time.Duration) float64 {
	s.advance(now)
	var sum float64
	for _, x := range s.sums {
		sum += x
	}
	begun := s.last - time.Duration(s.current)*s.slot
	return sum / (time.Duration(len(s.sums)-1)*s.slot + begun).Seconds()
}

// advance forgets what is older than the window.
func (s *slidingSum) advance(now time.Duration) {
	s.last = max(s.last, now)
	slot := int64(s.last / s.slot)
	for n := min(slot-s.current, int64(len(s.sums))); n > 0; n-- {
		s.sums[(slot-n+1)%int64(len(s.sums))] = 0
	}
	s.current = slot
}
