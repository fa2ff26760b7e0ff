package plan

import (
	"math/rand/v2"
	"time"
)

// Burst says how Bursty arrivals come: by a Poisson process whose rate is
// switched between two multiples of the phase's rate. With durations of random
// length this is the switched (with Idle 0: the interrupted) Poisson process of
// the literature on teletraffic.
//
// While on, the rate is the phase's times (1 + Off/On·(1-Idle)); while off it is
// the phase's times Idle. The process begins in the middle of its life, on with
// the probability On/(On+Off), so that at every instant the expected rate is
// the phase's, and the expected number of arrivals the integral of that.
//
// Each class with phases of its own has bursts of its own.
type Burst struct {
	On, Off time.Duration // mean length of either state, 1ms to MaxDuration
	Fixed   bool          // the states last exactly so long; otherwise exponentially distributed
	Idle    float64       // rate while off as a multiple of the phase's, 0 to below 1
}

// Bounds of a Burst beside MaxDuration.
const (
	MinBurst = time.Millisecond
	MaxPeak  = 1000 // Burst.Peak at most
)

// Peak returns the multiple of the phase's rate while on.
func (b Burst) Peak() float64 {
	return 1 + float64(b.Off)/float64(b.On)*(1-b.Idle)
}

func (b Burst) check(f *faults) {
	before := len(f.errs)
	f.burst("burst.on", b.On)
	f.burst("burst.off", b.Off)
	if !(b.Idle >= 0 && b.Idle < 1) {
		f.add("burst.idle", b.Idle, "a multiple of the rate from 0 to below 1")
	}
	if len(f.errs) == before && b.Peak() > MaxPeak {
		f.add("burst.off", b.Off, "less, or a longer on, so that bursts are at most 1000 times the rate")
	}
}

func (f *faults) burst(field string, d time.Duration) {
	if d < MinBurst || d > MaxDuration {
		f.add(field, d, "a duration from 1ms to "+MaxDuration.String())
	}
}

// bursts is the switch of one flow.
type bursts struct {
	Burst
	rand  *rand.Rand
	on    bool
	until time.Duration // instant at which it switches, since the start of the plan
}

func newBursts(b Burst, r *rand.Rand) *bursts {
	s := &bursts{Burst: b, rand: r}
	// A life that began long ago is at a uniform place of its cycle. What is left
	// of a fixed state follows from that; an exponential one forgets its age.
	at := time.Duration(r.Float64() * float64(b.On+b.Off))
	s.on = at < b.On
	switch {
	case !b.Fixed:
		s.until = s.lasts()
	case s.on:
		s.until = max(1, b.On-at)
	default:
		s.until = max(1, b.On+b.Off-at)
	}
	return s
}

// flip switches to the other state, at until.
func (s *bursts) flip() {
	s.on = !s.on
	s.until += s.lasts()
}

// lasts returns how long the present state is to last.
func (s *bursts) lasts() time.Duration {
	mean := s.Off
	if s.on {
		mean = s.On
	}
	if s.Fixed {
		return mean
	}
	return max(1, time.Duration(s.rand.ExpFloat64()*float64(mean)))
}

// factor returns the present multiple of the phase's rate.
func (s *bursts) factor() float64 {
	if s.on {
		return s.Peak()
	}
	return s.Idle
}
