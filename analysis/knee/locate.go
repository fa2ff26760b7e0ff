package knee

// bracket is a good level and the bad one above it, as indices; high is -1
// when there is none.
type bracket struct{ low, high int }

// first returns the lowest bracket. Bad levels that are within the noise of
// being good and outnumbered by good ones above them are passed over, which is
// what noisy reports.
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
		case c.marginal(l):
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
	a, slope := line(c.past(b.high, 10*c.noise))
	if slope > soft*c.baseline && c.noise > 0.01 {
		// A few noisy levels side by side have any slope.
		a, slope = line(c.past(b.high, 1))
	}
	if slope > soft*c.baseline {
		e.soft = true
		share := (l.ratio - c.threshold()) / (l.ratio - u.ratio)
		e.knee = (1 - c.opt.Eps) * (l.load + share*(u.load-l.load))
		e.floor = min(e.floor, e.knee)
		return e
	}
	e.knee = max(e.floor, min(u.load, a/(c.baseline-slope)))
	return e
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
