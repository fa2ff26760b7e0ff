package knee

import "knee/analysis/stat"

// Load is one load of a curve: its points joined, without those that support no
// claim.
type Load struct {
	Rate    float64
	Goodput float64 // median of the points
	Running float64 // median of Goodput here and at both neighbours; the lower of two at the ends of the curve
	Ratio   float64 // median of goodput to load
	Good    bool    // keeps at least 1-Eps of the baseline, and does not grow
}

// Loads returns the loads of the curve through points, ascending, as Find sees
// them.
func Loads(points []Point, o Options) []Load {
	c := newCurve(points, o.withDefaults())
	run := c.running()
	loads := make([]Load, len(c.levels))
	for i, l := range c.levels {
		loads[i] = Load{Rate: l.load, Goodput: l.goodput, Running: run[i], Ratio: l.ratio, Good: c.good(l)}
	}
	return loads
}

// running is the 3-point running median of goodput. At both ends it is the
// lower of two, so that it never rises where an end is cut off.
func (c *curve) running() []float64 {
	g := make([]float64, len(c.levels))
	for i := range c.levels {
		switch w := c.levels[max(0, i-1):min(len(c.levels), i+2)]; len(w) {
		case 1:
			g[i] = w[0].goodput
		case 2:
			g[i] = min(w[0].goodput, w[1].goodput)
		default:
			g[i] = stat.Median([]float64{w[0].goodput, w[1].goodput, w[2].goodput})
		}
	}
	return g
}
