package server

import (
	"math"
	"time"

	"knee/target/fault"
	"knee/target/protection"
)

// pace is how fast work proceeds. It is a clock of work: what one worker would
// have got done since the start. Work in progress ends at a fixed reading of
// that clock, so a change of pace moves all its ends at once and in order. At
// the healthy pace it is exact to the nanosecond.
type pace struct {
	at, done time.Duration // the work clock read done at the instant at
	part     float64       // and so much more, from 0 to 1: no change of pace loses any work
	factor   float64       // duration of one unit of work
	stalled  bool          // the work clock stands
}

// read returns the reading of the work clock at now, not before p.at.
func (p *pace) read(now time.Duration) time.Duration {
	switch {
	case p.stalled:
		return p.done
	case p.factor == 1:
		return p.done + (now - p.at)
	}
	return p.done + time.Duration(p.part+float64(now-p.at)/p.factor)
}

// when returns the instant at which the work clock reads done; Never if it does
// not at this pace.
func (p *pace) when(done time.Duration) time.Duration {
	switch {
	case p.stalled:
		return protection.Never
	case p.factor == 1:
		return later(p.at, done-p.done)
	}
	d := math.Ceil((float64(done-p.done) - p.part) * p.factor)
	if d >= math.MaxInt64 {
		return protection.Never
	}
	return later(p.at, time.Duration(d))
}

// stretch returns how long work takes at this pace.
func (p *pace) stretch(work time.Duration) time.Duration {
	if p.factor == 1 {
		return work
	}
	return time.Duration(min(float64(work)*p.factor, float64(1<<62)))
}

// set changes the pace at now.
func (p *pace) set(now time.Duration, c fault.Conditions) {
	if p.factor == c.WorkFactor && p.stalled == c.Stalled {
		return
	}
	switch {
	case p.stalled:
	case p.factor == 1:
		p.done += now - p.at
	default:
		whole, part := math.Modf(p.part + float64(now-p.at)/p.factor)
		p.done, p.part = p.done+time.Duration(whole), part
	}
	p.at = now
	p.factor, p.stalled = c.WorkFactor, c.Stalled
}

// later returns t + d, at most Never.
func later(t, d time.Duration) time.Duration {
	if d > protection.Never-t {
		return protection.Never
	}
	return t + d
}
