package knee

import (
	"math"
	"slices"

	"knee/analysis/stat"
)

// curve is the cleaned input: one level per load, ascending.
type curve struct {
	opt      Options
	levels   []level
	baseline float64 // best ratio among the three lowest loads, at most 1
	warm     int     // levels at the bottom that were worse than the one that gave the baseline
	noise    float64
	limited  bool // some load could not be offered
}

// level is what the trials of one load say.
type level struct {
	load, goodput, ratio float64
	growing              bool
}

// short reports whether less than 98 % of the intended load was offered. Where
// the number of requests is known, three standard deviations of random arrivals
// are no shortfall.
func short(p Point) bool {
	least := 0.98 * p.Intended
	if p.Sent > 0 {
		least *= 1 - 3/math.Sqrt(float64(p.Sent))
	}
	return p.Offered < least
}

func newCurve(points []Point, o Options) *curve {
	c := &curve{opt: o}
	c.levels = c.merge(points)
	low := c.levels[:min(3, len(c.levels))]
	best := 0
	for i, l := range low {
		if l.ratio > low[best].ratio {
			best = i
		}
	}
	if len(low) > 0 {
		c.baseline = min(1, low[best].ratio)
	}
	c.noise = max(scatter(c.levels), scatter(c.bad()))
	// A bad load below the best of the lowest three is not the knee: the
	// server was cold, or the first trials were disturbed.
	for c.warm < best && !c.good(c.levels[best-1]) && c.good(c.levels[best]) {
		c.warm = best
	}
	return c
}

// merge drops what says nothing and joins the replicates of a load.
func (c *curve) merge(points []Point) []level {
	groups := map[float64][]Point{}
	for _, p := range points {
		if !usable(p) {
			continue
		}
		if p.Limited || short(p) {
			c.limited = true
			continue
		}
		key := p.Offered
		if p.Intended > 0 {
			key = p.Intended
		}
		groups[key] = append(groups[key], p)
	}
	levels := make([]level, 0, len(groups))
	for _, g := range groups {
		levels = append(levels, join(g))
	}
	slices.SortFunc(levels, func(a, b level) int {
		switch {
		case a.load < b.load:
			return -1
		case a.load > b.load:
			return 1
		}
		return 0
	})
	return levels
}

// usable reports whether the rates of p are numbers that a trial can have. The
// bounds are no physics: they keep products and quotients of two rates finite.
func usable(p Point) bool {
	if p.Sent > 0 && (p.Good > p.Sent || p.Good > 0 && p.Goodput < least) {
		return false // the counts contradict themselves, or the rates
	}
	return p.Offered > least && p.Offered < 1/least && p.Goodput >= 0 && p.Goodput < 1/least
}

// least is the smallest rate that is told from none.
const least = 1e-100

// join takes medians over the trials of one load. It is the load that was
// offered that counts, not the intended one: a server sees the arrivals that
// came. The load grew when it grew in most of the trials.
func join(g []Point) level {
	var load, goodput, ratio []float64
	grew := 0
	for _, p := range g {
		load, goodput = append(load, p.Offered), append(goodput, p.Goodput)
		if p.Sent > 0 {
			ratio = append(ratio, float64(p.Good)/float64(p.Sent))
		} else {
			ratio = append(ratio, p.Goodput/p.Offered)
		}
		if p.Growing {
			grew++
		}
	}
	return level{
		load: stat.Median(load), goodput: stat.Median(goodput), ratio: stat.Median(ratio),
		growing: 2*grew > len(g),
	}
}

// threshold is the ratio that a good load has at least. The allowance is for
// the rounding of decimals in files.
func (c *curve) threshold() float64 { return (1 - c.opt.Eps) * c.baseline * (1 - 1e-9) }

func (c *curve) good(l level) bool { return !l.growing && l.ratio >= c.threshold() }

func (c *curve) allGood() bool {
	return c.baseline >= 0.9 && !slices.ContainsFunc(c.levels, func(l level) bool { return !c.good(l) })
}

func (c *curve) maxTested() float64 {
	if len(c.levels) == 0 {
		return 0
	}
	return c.levels[len(c.levels)-1].load
}

// top is the most goodput of any load.
func (c *curve) top() float64 {
	t := 0.0
	for _, l := range c.levels {
		t = max(t, l.goodput)
	}
	return t
}

// hint is the bracket that fewer than three levels suggest.
func (c *curve) hint() (low, high float64) {
	for _, l := range c.levels {
		switch {
		case c.baseline < 0.9 || !c.good(l):
			if high == 0 {
				high = l.load
			}
		case high == 0:
			low = l.load
		}
	}
	return low, high
}

// saturation is the smallest load whose goodput is nearly the most. The most is
// that of the running median, because a single high level is no plateau, but at
// least that of the knee, where goodput may have a narrow peak.
func (c *curve) saturation(knee float64) float64 {
	most := min(c.top(), c.baseline*knee)
	for _, g := range c.running() {
		most = max(most, g)
	}
	for _, l := range c.levels {
		if l.goodput >= (1-c.opt.Eps)*most*(1-1e-9) {
			return l.load
		}
	}
	return 0
}

// scatter estimates the relative standard deviation of goodput around its
// curve: how far each level is from the straight line between its neighbours, in
// log-log, where a hinge is straight on both sides. The median leaves kinks and
// cliffs out. Distances of a smooth curve keep their sign and are no noise, and
// fewer than 5 say nothing.
func scatter(levels []level) float64 {
	var d []float64
	changes, last := 0, 0.0
	for i := 1; i+1 < len(levels); i++ {
		a, m, b := levels[i-1], levels[i], levels[i+1]
		if a.goodput == 0 || m.goodput == 0 || b.goodput == 0 {
			continue
		}
		w := math.Log(b.load/m.load) / math.Log(b.load/a.load)
		off := math.Log(m.goodput) - w*math.Log(a.goodput) - (1-w)*math.Log(b.goodput)
		d = append(d, math.Abs(off)/math.Sqrt(1+w*w+(1-w)*(1-w)))
		if off*last < 0 {
			changes++
		}
		if off != 0 {
			last = off
		}
	}
	if len(d) < 5 || 3*changes < len(d) {
		return 0
	}
	const perSigma = 0.6744897501960817 // median of |x| of a standard normal
	return stat.Median(d) / perSigma
}

// bad returns the levels that are not good: past the knee, for the most part.
func (c *curve) bad() []level {
	return slices.DeleteFunc(slices.Clone(c.levels), c.good)
}
