package analysis

import (
	"math"
	"slices"
	"time"

	"knee/analysis/metastable"
	"knee/analysis/recovery"
	"knee/analysis/stat"
)

// recoveryOf says how long goodput took to return after triggers. why says why
// there are none.
func recoveryOf(triggers []trigger, why string) Recovery {
	out := Recovery{Verdict: notTested, Why: why}
	var results []recovery.Result
	for _, t := range triggers {
		switch {
		case t.name == Threshold:
			continue
		case t.fault:
			out.Faults++
		default:
			out.Spikes++
		}
		if out.BaseRPS == nil {
			out.BaseRPS = some(t.base)
		}
		results = append(results, t.episode.After)
	}
	if len(results) == 0 {
		if out.Why == "" {
			out.Why = "there was no spike"
		}
		return out
	}
	// The verdict is the median one, where one that says that goodput did not
	// recover counts as later than all that did.
	order := []string{recovery.Recovered, recovery.Slow, recovery.NotRecovered, recovery.Inconclusive}
	slices.SortStableFunc(results, func(a, b recovery.Result) int {
		if d := slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict); d != 0 {
			return d
		}
		return int(a.FromEnd - b.FromEnd)
	})
	median := results[len(results)/2]
	out.Verdict, out.Why = median.Verdict, median.Why
	out.LostGood = some(medianOf(results, func(r recovery.Result) float64 { return r.Lost }))
	switch median.Verdict {
	case recovery.Recovered:
		seconds := func(of func(recovery.Result) time.Duration) func(recovery.Result) float64 {
			return func(r recovery.Result) float64 {
				if r.Verdict != recovery.Recovered {
					return math.Inf(1)
				}
				return of(r).Seconds()
			}
		}
		out.MedianS = finite(medianOf(results, seconds(func(r recovery.Result) time.Duration { return r.FromEnd })))
		out.FromStartS = finite(medianOf(results, seconds(func(r recovery.Result) time.Duration { return r.FromStart })))
		low, _, sure := bounds(results, seconds(func(r recovery.Result) time.Duration { return r.Low }))
		_, high, _ := bounds(results, seconds(func(r recovery.Result) time.Duration { return r.High }))
		out.LowS, out.HighS = finite(low), finite(high)
		if len(results) > 1 {
			out.Confidence = some(sure)
		}
	case recovery.Slow:
		out.ProjectionS = some(median.Projection.Seconds())
	}
	return out
}

// medianOf returns the median of a measure of the results.
func medianOf(results []recovery.Result, of func(recovery.Result) float64) float64 {
	return stat.Median(valuesOf(results, of))
}

func valuesOf(results []recovery.Result, of func(recovery.Result) float64) []float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = of(r)
	}
	return values
}

// bounds returns between which two of the values the median lies with at least 95%
// confidence or, where there are less than six, the least and the greatest with the
// confidence that these have.
func bounds(results []recovery.Result, of func(recovery.Result) float64) (low, high, confidence float64) {
	values := valuesOf(results, of)
	low, high, confidence = stat.QuantileInterval(values, 0.5, 0.95)
	if math.IsInf(low, -1) {
		low, high = slices.Min(values), slices.Max(values)
		confidence = 1 - math.Pow(0.5, float64(len(values)-1))
	}
	return low, high, confidence
}

// metastabilityOf says whether the server stayed in a bad state after triggers.
func metastabilityOf(triggers []trigger) Metastability {
	out := Metastability{Verdict: notTested}
	byBase := map[float64][]metastable.Episode{}
	var judged []metastable.Episode
	threshold := false
	for _, t := range triggers {
		if !t.fault {
			byBase[t.base] = append(byBase[t.base], t.episode)
		}
		if t.name == Threshold {
			threshold = true
			continue
		}
		if len(judged) == 0 {
			out.BaseRPS, out.TriggerRPS, out.TriggerS = some(t.base), positive(t.peak), some(t.lasted.Seconds())
		}
		judged = append(judged, t.episode)
	}
	if len(judged) > 0 {
		r := metastable.Judge(judged)
		out.Verdict, out.Why = r.Verdict, r.Why
		out.Stuck, out.Triggers = some(r.Stuck), some(r.Triggers)
		out.ShareLow, out.ShareHigh = some(r.Low), some(r.High)
		out.ProjectionS = positive(r.Projection.Seconds())
	}
	if threshold {
		results := map[float64]metastable.Result{}
		for base, episodes := range byBase {
			results[base] = metastable.Judge(episodes)
		}
		low, high := metastable.Threshold(results)
		out.StableThresholdRPS, out.UnstableRPS = positive(low), finite(high)
	}
	return out
}
