// Package rejection says what one "no" costs a server beside one "yes".
//
// A server that spends s on a success and r on a rejection, and has C to spend, is
// full from the load C/s on. Beyond it G*s + (load-G)*r = C, so that goodput is a
// line: G = (C - load*r)/(s-r). With q = r/s and the capacity mu = C/s its slope is
// b = -q/(1-q) and its intercept a = mu/(1-q). So a curve alone tells q = -b/(1-b);
// the load C/r = mu/q at which rejections alone fill the server is -a/b. What r and
// s are takes the CPU that the server used.
package rejection

import (
	"math"
	"slices"

	"knee/analysis/stat"
)

// A Trial is one load, offered in one pass over the loads. All rates are per second.
type Trial struct {
	Block    int     // the pass, from 0
	Load     float64 // intended; the same in every block
	Offered  float64 // originals that came
	Good     float64
	Late     float64
	Rejected map[string]float64 // by reason
	CPU      float64            // seconds that the server used, per second; NaN when it is not known
}

// rejected returns the rejections of all reasons.
func (t *Trial) rejected() float64 {
	sum := 0.0
	for _, v := range t.Rejected {
		sum += v
	}
	return sum
}

// A Verdict says what is known of a cost.
type Verdict string

// The verdicts.
const (
	Measured     Verdict = "measured"
	Inconclusive Verdict = "inconclusive" // what was measured is not what a cost of rejections makes
	NotTested    Verdict = "not_tested"   // too little was measured
)

// A Cost is the answer of one method.
type Cost struct {
	Verdict   Verdict
	Why       string             // why it is not measured
	Q         float64            // of a success
	Low, High float64            // the 95% interval of Q
	Capacity  float64            // the load that fills the server with successes, per second
	Collapse  float64            // the load at which rejections alone fill it, per second; infinite when they may cost nothing
	Success   float64            // CPU of one success, seconds; 0 from a curve
	Rejection float64            // CPU of one rejection, seconds; 0 from a curve
	ByReason  map[string]float64 // the shares of a success by reason; nil unless there are several
}

// Retention returns the share of the capacity that is left as goodput at m times
// the capacity.
func (c *Cost) Retention(m float64) float64 {
	if m <= 1 {
		return 1
	}
	if c.Q >= 1 {
		return 0
	}
	return max(0, (1-m*c.Q)/(1-c.Q))
}

// MostFor returns the largest cost of a rejection, as a share of a success, with
// which the share keep of the goodput is left at m times the capacity.
func MostFor(keep, m float64) float64 { return (1 - keep) / (m - keep) }

// Lost returns the goodput that each rejection costs.
func (c *Cost) Lost() float64 {
	if c.Q >= 1 {
		return 1
	}
	return c.Q / (1 - c.Q)
}

// Fill says what the server has to spend per second, in the unit of Success and
// Rejection, and sets the loads that follow from it.
func (c *Cost) Fill(spends float64) {
	c.Capacity, c.Collapse = spends/c.Success, math.Inf(1)
	if c.Rejection > 0 {
		c.Collapse = spends / c.Rejection
	}
}

// past is how many times the knee a load must be to be on the line.
const past = 1.3

// alive is the share of the highest goodput below which a load is past the collapse,
// where the line has ended.
const alive = 0.05

// leastLoads is how many loads a line takes.
const leastLoads = 3

// bends is the chance below which residuals that keep their sign so long say that
// there is no line.
const bends = 0.05

// FromCurve finds the cost from goodput alone: from the line through the medians of
// the loads past 1.3 times the knee, where anything is left. It is not known when
// there are fewer than three such loads, when goodput rises, or when what is past
// the knee is no line, as with a fan-out or a second limit.
func FromCurve(trials []Trial, knee float64) Cost {
	n := blocks(trials)
	curve := curveOf(trials, n)
	loads, goods := curve.past(upTo(n), knee)
	if len(loads) < leastLoads {
		return Cost{Verdict: NotTested, Why: "too few loads past 1.3 times the knee, with anything left of the goodput: want at least 3"}
	}
	b := stat.TheilSen(loads, goods).Value
	a := stat.Median(minus(goods, loads, b))
	low, high := stat.BlockBootstrap(n, 1, func(picked []int) float64 {
		loads, goods := curve.past(picked, knee)
		if len(loads) < leastLoads {
			return math.NaN()
		}
		return stat.TheilSen(loads, goods).Value
	})
	switch {
	case low > 0:
		return Cost{Verdict: Inconclusive, Why: "goodput rises past the knee, which no cost of a rejection does"}
	case bent(loads, goods, a, b):
		return Cost{Verdict: Inconclusive, Why: "what is past the knee is no line: there is another limit, or rejections differ"}
	}
	c := Cost{
		Verdict: Measured, Q: shareOf(b), Low: shareOf(high), High: shareOf(low),
		Capacity: a / (1 - b), Collapse: math.Inf(1),
	}
	if c.Low < resolves {
		c.Low = 0
	}
	if c.Low > 0 {
		c.Collapse = -a / b
	}
	return c
}

// resolves is the cost below which a curve cannot tell it from none.
const resolves = 0.003

// bent reports whether goods bend away from the line a + b*loads: they stay on one
// side of it for long, or two lines, one for each half of the loads, fit them so
// much better that chance does not explain it (an F test, as Chow's of 1960).
func bent(loads, goods []float64, a, b float64) bool {
	rest := minus(goods, loads, b)
	for i := range rest {
		rest[i] -= a
	}
	if slices.Max(rest)-slices.Min(rest) <= alive*slices.Max(goods) {
		return false // it would make no difference
	}
	if stat.FewRuns(rest) < bends {
		return true
	}
	half := len(loads) / 2
	left := float64(len(loads) - 4) // degrees of freedom that two lines leave
	if half < leastLoads {
		return false
	}
	one, two := misfit(loads, goods), misfit(loads[:half], goods[:half])+misfit(loads[half:], goods[half:])
	f := (one - two) / 2 / (two / left)
	return math.Pow(1+2*f/left, -left/2) < kinks // the tail of F with 2 degrees and so many
}

// kinks is the chance below which two lines are no accident.
const kinks = 0.01

// misfit returns the sum of the squares that the best line leaves.
func misfit(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	var xx, xy, yy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		xy += (x[i] - mx) * (y[i] - my)
		yy += (y[i] - my) * (y[i] - my)
	}
	return max(0, yy-xy*xy/xx)
}

// minus returns goods - b*loads.
func minus(goods, loads []float64, b float64) []float64 {
	rest := make([]float64, len(goods))
	for i := range goods {
		rest[i] = goods[i] - b*loads[i]
	}
	return rest
}

// A curve is the goodput of each load, ascending, by block; NaN where there is none.
type curve struct {
	loads []float64
	goods [][]float64
}

func curveOf(trials []Trial, blocks int) curve {
	var c curve
	for _, t := range trials {
		c.loads = append(c.loads, t.Load)
	}
	slices.Sort(c.loads)
	c.loads = slices.Compact(c.loads)
	for range c.loads {
		c.goods = append(c.goods, slices.Repeat([]float64{math.NaN()}, blocks))
	}
	for _, t := range trials {
		i, _ := slices.BinarySearch(c.loads, t.Load)
		c.goods[i][t.Block] = t.Good
	}
	return c
}

// past returns the loads past 1.3 times the knee at which anything is left, with the
// median goodput of the picked blocks.
func (c curve) past(picked []int, knee float64) (loads, goods []float64) {
	at := make([]float64, 0, len(picked))
	top := 0.0
	for i, load := range c.loads {
		at = at[:0]
		for _, block := range picked {
			if g := c.goods[i][block]; !math.IsNaN(g) {
				at = append(at, g)
			}
		}
		if len(at) == 0 {
			continue
		}
		slices.Sort(at)
		g := at[len(at)/2]
		if len(at)%2 == 0 {
			g = (g + at[len(at)/2-1]) / 2
		}
		if top = max(top, g); load >= past*knee && g > 0 && g >= alive*top {
			loads, goods = append(loads, load), append(goods, g)
		}
	}
	return loads, goods
}

// shareOf maps the slope of the line to the cost of a rejection, which is at least 0.
func shareOf(slope float64) float64 {
	if math.IsInf(slope, -1) {
		return 1
	}
	return max(0, -slope/(1-slope))
}

// blocks returns how many blocks there are.
func blocks(trials []Trial) int {
	n := 0
	for _, t := range trials {
		n = max(n, t.Block+1)
	}
	return n
}

// upTo returns 0 to n-1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
