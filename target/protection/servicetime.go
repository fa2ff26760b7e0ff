package protection

import (
	"math"
	"math/bits"
	"time"
)

const (
	// A window is closed when it is this old and holds this many samples. Old
	// samples are forgotten at once, so that an estimate made during a fault does
	// not outlive it for long.
	windowAge     = time.Second
	windowSamples = 50
	// Until the first window closes there is only what was declared, so estimates
	// are made of what has come in of it: after this many samples, and again
	// whenever their number has doubled. The first few alone would mislead for a
	// whole window, since short requests are the first to end.
	firstSamples = 20

	binBits = 5 // 32 bins for each doubling: an estimate is at most 1/32 too high
	bins    = (64 - binBits) << binBits
)

// serviceTime estimates a quantile or the mean of service times from one window
// of samples at a time, in constant memory.
type serviceTime struct {
	quantile float64 // 0: the mean
	estimate time.Duration
	early    uint64 // samples at which the first window is looked at next; 0: it has closed

	opened time.Duration // when the present window began
	n      uint64
	sum    float64
	max    time.Duration
	count  [bins]uint32
}

func newServiceTime(quantile float64, declared time.Duration) *serviceTime {
	return &serviceTime{quantile: quantile, estimate: declared, early: firstSamples}
}

// add takes the service time of a request that was served at now.
func (s *serviceTime) add(now, served time.Duration) {
	served = max(served, 0)
	s.n++
	s.sum += float64(served)
	s.max = max(s.max, served)
	s.count[binOf(served)]++
	if s.n >= windowSamples && now-s.opened >= windowAge {
		s.estimate, s.early = s.ofWindow(), 0
		s.opened, s.n, s.sum, s.max = now, 0, 0, 0
		clear(s.count[:])
		return
	}
	if s.n == s.early {
		s.estimate = s.ofWindow()
		s.early *= 2
	}
}

func (s *serviceTime) ofWindow() time.Duration {
	if s.quantile == 0 {
		return time.Duration(s.sum / float64(s.n))
	}
	rank := uint64(math.Ceil(s.quantile * float64(s.n)))
	var seen uint64
	for i, n := range s.count {
		if seen += uint64(n); seen >= rank {
			return min(binTop(i), s.max)
		}
	}
	return s.max
}

// binOf returns the bin of a duration of at least 0: exact below 32 ns, then 32
// bins for each doubling.
func binOf(d time.Duration) int {
	shift := max(0, bits.Len64(uint64(d))-binBits-1)
	return shift<<binBits + int(d>>shift)
}

// binTop returns the longest duration that falls into bin i.
func binTop(i int) time.Duration {
	if i < 2<<binBits {
		return time.Duration(i)
	}
	shift := i>>binBits - 1
	return time.Duration(i-shift<<binBits+1)<<shift - 1
}
