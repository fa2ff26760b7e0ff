package plateau

import (
	"math"

	"knee/analysis/knee"
	"knee/analysis/stat"
)

// kept is a load past the knee with its judged retention.
type kept struct{ load, judged float64 }

// retained returns what each load past the knee keeps.
//
// Dropping the last load never turns a plateau into a collapse: the running
// median of the one before it can only fall, so every reference falls or stays,
// or (when saturation moves left) rises by at most 1/(1-Eps).
func retained(loads []knee.Load, k knee.Result, o Options) []kept {
	eps := o.Eps
	if !(eps > 0 && eps <= 0.5) {
		eps = 0.05
	}
	smooth := smoothed(loads, k)
	most, raw := 0.0, 0.0
	for i, l := range loads {
		most, raw = max(most, smooth[i]), max(raw, l.Goodput)
	}
	// A peak narrower than the running median is real when the knee is on it.
	peak := min(raw, k.Baseline*k.RPS)
	ref := max(most, peak)

	var out []kept
	best, saturated := peak, false
	for i, l := range loads {
		best = max(best, smooth[i])
		saturated = saturated || best >= (1-eps)*ref
		if !past(l, k) {
			continue
		}
		against := best
		if saturated {
			against = ref
		}
		out = append(out, kept{load: l.Rate, judged: judged(l.Goodput, smooth[i], k.Noise, against)})
	}
	return out
}

// past reports whether a load is past the knee's interval.
func past(l knee.Load, k knee.Result) bool { return l.Rate >= k.High*(1-1e-9) }

// quiet is the noise up to which the running median is smooth enough. Beyond
// it the most of many running medians is well above their mean, and the least
// well below.
const quiet = 0.01

// smoothed is the goodput of each load without its noise: the running median,
// or, past the knee of a noisy curve, a straight line over the logarithm of the
// load. Loads that are too far from the line for the noise keep their running
// median.
func smoothed(loads []knee.Load, k knee.Result) []float64 {
	smooth := make([]float64, len(loads))
	var x, y []float64
	for i, l := range loads {
		smooth[i] = l.Running
		if past(l, k) {
			x, y = append(x, math.Log(l.Rate)), append(y, l.Goodput)
		}
	}
	if k.Noise <= quiet || len(x) < 4 {
		return smooth
	}
	fit := stat.TheilSen(x, y)
	slope := fit.Value
	if fit.Low <= 0 && fit.High >= 0 {
		slope = 0 // no evidence that goodput changes at all
	}
	for i := range x {
		y[i] -= slope * x[i]
	}
	level := stat.Median(y)
	for i, l := range loads {
		if fit := level + slope*math.Log(l.Rate); past(l, k) && near(l.Goodput, fit, k.Noise, k.Baseline*k.RPS) {
			smooth[i] = fit
		}
	}
	return smooth
}

// near reports whether two goodputs differ by no more than the noise explains.
func near(a, b, noise, goodput float64) bool { return math.Abs(a-b) <= 2.5*min(noise, 0.1)*goodput }

// judged is the retention of one load. Within the noise of the curve a load is
// judged by its smooth goodput; further out, or when less than half would be
// left, by itself.
func judged(raw, smooth, noise, against float64) float64 {
	if raw < Collapsed*against || !near(raw, smooth, noise, against) {
		return raw / against
	}
	return smooth / against
}
