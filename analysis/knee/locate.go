package knee

import (
	"math"

	"knee/analysis/stat"
)

// bracket is a good level and the bad one above it, as indices; high is -1
// when there is none.
type bracket struct{ low, high int }

// first returns the lowest bracket. Bad levels are passed over when good ones
// above outnumber them and they are within the noise of being good, or within
// two bracket widths of a good one: loads that close differ by chance as much
// as by their rates. That is what noisy reports.
func (c *curve) first() (b bracket, noisy bool) {
	low := c.warm
	for low+1 < len(c.levels) && c.good(c.levels[low+1]) {
		low++
	}
	if low+1 == len(c.levels) {
		return bracket{low, -1}, false
	}
	best, good, bad := low, 0, 0
	for i := low + 1; i < len(c.levels); i++ {
		switch l := c.levels[i]; {
		case c.good(l):
			if good++; good >= bad {
				best = i
			}
		case c.marginal(l), c.goodNear(i):
			bad++
		default:
			i = len(c.levels)
		}
	}
	if best+1 == len(c.levels) {
		return bracket{best, -1}, best > low
	}
	return bracket{best, best + 1}, best > low
}

// marginal reports whether a bad level could be a good one with this noise.
func (c *curve) marginal(l level) bool {
	return !l.growing && l.ratio >= max(c.threshold()-3*c.noise, 0.8*c.baseline)
}

// goodNear reports whether a level above i, and hardly above it, is good.
func (c *curve) goodNear(i int) bool {
	for _, l := range c.levels[i+1:] {
		if l.load > c.near(c.levels[i].load) {
			return false
		}
		if c.good(l) {
			return true
		}
	}
	return false
}

// near is the load up to which levels are close to one at load.
func (c *curve) near(load float64) float64 { return load * (1 + 2*c.opt.Width) }

// last returns the bracket above which no level is good.
func (c *curve) last() bracket {
	low := len(c.levels) - 1
	for low > 0 && !c.good(c.levels[low]) {
		low--
	}
	if low+1 == len(c.levels) {
		return bracket{low, -1}
	}
	return bracket{low, low + 1}
}

// estimate is the knee within a bracket.
type estimate struct {
	knee  float64
	floor float64 // goodput at the lower end over the baseline: the knee is no lower
	soft  bool
}

// soft is the share of the slope below the knee that goodput keeps past it
// when it bends over instead of breaking.
const soft = 0.6

// value locates the knee between the ends of b.
func (c *curve) value(b bracket) estimate {
	l, u := c.levels[b.low], c.levels[b.high]
	e := estimate{floor: min(l.goodput/c.baseline, l.load)}
	if u.growing && u.ratio >= c.threshold() {
		// Its goodput is what the queue still hid: it says nothing about
		// where in the bracket the knee is.
		e.knee = (e.floor + u.load) / 2
		return e
	}
	floor := e.floor
	a, slope := line(c.past(b.high, 10*c.noise))
	if level, ok := c.flat(b.high); ok {
		a, slope = level, 0
		if c.noise > quiet {
			floor *= 1 - 2*min(c.noise, 0.05)
		}
	} else if slope > soft*c.baseline && c.noise > quiet {
		// A few noisy levels side by side have any slope.
		a, slope = line(c.past(b.high, 1))
	}
	if slope > soft*c.baseline {
		e.soft = true
		// The lower end may itself be below the threshold, where noise was passed over.
		share := min(1, max(0, (l.ratio-c.threshold())/(l.ratio-u.ratio)))
		e.knee = (1 - c.opt.Eps) * (l.load + share*(u.load-l.load))
		e.floor = min(e.floor, e.knee)
		return e
	}
	at := a / (c.baseline - slope)
	if carried := u.goodput / c.baseline; slope < cliff && carried > floor {
		// No cost of a rejection makes goodput fall faster than load rises. It is
		// served late, and the line says how late, not from which load on; what was
		// carried at the first bad load does.
		at = min(at, carried)
	}
	e.knee = max(floor, min(u.load, at))
	return e
}

// cliff is the slope past the knee below which goodput falls off: that of
// rejections that cost half a success each is -1.
const cliff = -1.1

// quiet is the noise below which single levels are taken at their word.
const quiet = 0.01

// flat returns the median goodput of the levels from i on when they are a
// plateau: all of them then tell the knee, not only the first, where a burst
// may still help. It takes five levels, three in four near the median, and a
// slope that is neither sure nor, over all of them, more than a tenth.
func (c *curve) flat(i int) (level float64, ok bool) {
	var x, y []float64
	for _, l := range c.levels[i:] {
		x, y = append(x, l.load), append(y, l.goodput)
	}
	if len(x) < 5 {
		return 0, false
	}
	level = stat.Median(y)
	within := 4 * max(0.0025, min(c.noise, 0.08)) * level
	near := 0
	for i, g := range y {
		if math.Abs(g-level) <= within {
			near++
		}
		if i < 2 && g < level-within {
			return 0, false // it still rises
		}
	}
	s := stat.TheilSen(x, y)
	change := s.Value * (x[len(x)-1] - x[0])
	return level, 4*near >= 3*len(x) && s.Low <= 0 && s.High >= 0 && math.Abs(change) < level/10
}

// past returns the levels that the line is fitted to: the first three bad ones
// from i on, and as many more as lie within span of the load of i, a share of
// it, but none beyond twice that load.
func (c *curve) past(i int, span float64) []level {
	u := c.levels[i].load
	n := i
	for n < len(c.levels) && c.levels[n].load <= 2*u && !c.good(c.levels[n]) {
		if n-i >= 3 && c.levels[n].load > u*(1+span) {
			break
		}
		n++
	}
	return c.levels[i:n]
}

// line fits goodput = a + slope*load by least squares. One level gives a
// horizontal line.
func line(levels []level) (a, slope float64) {
	n := float64(len(levels))
	var mx, my float64
	for _, l := range levels {
		mx += l.load / n
		my += l.goodput / n
	}
	var sxx, sxy float64
	for _, l := range levels {
		sxx += (l.load - mx) * (l.load - mx)
		sxy += (l.load - mx) * (l.goodput - my)
	}
	if sxx > 0 {
		slope = sxy / sxx
	}
	return my - slope*mx, slope
}
