package plateau

import (
	"math"

	"knee/analysis/knee"
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
	most, raw := 0.0, 0.0
	for _, l := range loads {
		most, raw = max(most, l.Running), max(raw, l.Goodput)
	}
	// A peak narrower than the running median is real when the knee is on it.
	peak := min(raw, k.Baseline*k.RPS)
	ref := max(most, peak)

	var out []kept
	best, saturated := peak, false
	for _, l := range loads {
		best = max(best, l.Running)
		saturated = saturated || best >= (1-eps)*ref
		if l.Rate < k.High*(1-1e-9) {
			continue
		}
		against := best
		if saturated {
			against = ref
		}
		out = append(out, kept{load: l.Rate, judged: judged(l.Goodput, l.Running, k.Noise, against)})
	}
	return out
}

// judged is the retention of one load. Within the noise of the curve a load is
// judged by its running median; further out, or when less than half would be
// left, by itself.
func judged(raw, smooth, noise, against float64) float64 {
	if raw < Collapsed*against || math.Abs(raw-smooth) > 2.5*min(noise, 0.08)*against {
		return raw / against
	}
	return smooth / against
}
