package plan

import (
	"math"
	"time"
)

// A segment is a stretch of a flow prepared for the cursor: the rate is linear
// in it, so its integral and the inverse of that have closed forms.
//
// Positions in a segment are measured in arrivals, as the integral of the rate
// from its start. All times are computed from the segment's own ends, never by
// adding gaps, so that nothing drifts however long it is.
type segment struct {
	start    time.Duration
	duration time.Duration
	area     float64 // integral of the rate over the segment: expected arrivals
	gap      float64 // nanoseconds between arrivals, where the rate is flat
	low      float64 // rate at the lower end of a ramp, per second
	rise     float64 // slope of a ramp seen from its lower end, per second squared; 0 where flat
	falling  bool    // the lower end is the last one
	jitter   uint64  // bound of the jitter in nanoseconds
}

func segmentOf(start, duration time.Duration, from, to float64) segment {
	seconds := duration.Seconds()
	g := segment{
		start:    start,
		duration: duration,
		area:     (from + to) / 2 * seconds,
		low:      min(from, to),
		rise:     math.Abs(to-from) / seconds,
		falling:  to < from,
	}
	if peak := max(from, to); peak > 0 {
		g.gap = 1e9 / peak
		// Half a gap keeps the order of arrivals, and keeps the last one, which
		// is due half a gap before the end, within the segment.
		g.jitter = uint64(min(1000, g.gap/2))
	}
	return g
}

// at returns the instant of position y, 0 <= y < area, since the start of the plan.
func (g *segment) at(y float64) time.Duration {
	ns := y * g.gap
	if g.rise > 0 {
		ns = g.ramp(y)
	}
	return g.start + min(time.Duration(ns+0.5), g.duration-1)
}

// ramp returns the nanoseconds until position y of a ramp. It solves
// low t + rise t²/2 = y from the lower end, in the form that loses no digits
// when the rise is tiny or low is 0; a falling ramp is a rising one seen from
// its end. The conversions keep machines with fused multiply-add from giving
// another result.
func (g *segment) ramp(y float64) float64 {
	if g.falling {
		y = g.area - y
	}
	var ns float64
	if root := g.low + math.Sqrt(float64(g.low*g.low)+float64(2*g.rise*y)); root > 0 {
		ns = 2e9 * y / root
	}
	if g.falling {
		ns = max(0, float64(g.duration)-ns)
	}
	return ns
}

// until returns the position that is reached d after the start, which is the
// inverse of at but for its rounding.
func (g *segment) until(d time.Duration) float64 {
	if d >= g.duration {
		return g.area
	}
	if g.falling {
		d = g.duration - d
	}
	t := d.Seconds()
	y := float64(g.low*t) + g.rise*t*t/2
	if g.falling {
		return max(0, g.area-y)
	}
	return y
}
