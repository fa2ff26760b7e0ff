package main

import (
	"math"
	"slices"
	"time"
)

// settling is the share of a run's arrivals that does not count for its timing:
// tools open their connections, and some warm them with requests, before they
// keep to a schedule.
const settling = 0.1

// A timing is how punctual the arrivals of an open loop were. Durations are in
// microseconds.
//
// An arrival's error is how far it is from its place in the ideal schedule of
// equal gaps, to either side. The arrivals are taken in order, and the schedule
// begins where it is best for the tool, as nobody outside a tool knows when its
// clock began: at the median of the differences, which makes the sum of the
// errors least. A request that a tool leaves out, or sends twice, moves all later
// ones from their places, as does a rate that is not the one asked for.
type timing struct {
	P50    float64 `json:"error_p50_us"`
	P99    float64 `json:"error_p99_us"`
	P999   float64 `json:"error_p999_us"`
	Spread float64 `json:"spread_us"` // from the first to the 99th percentile of the signed differences
	CV     float64 `json:"gap_cv"`    // coefficient of variation of the gaps: 0 for equal ones, 1 for those of a Poisson process
}

// timingOf returns the timing of arrivals, which are nanoseconds in order, at a
// rate per second that was asked for. There have to be at least two after the
// settling.
func timingOf(at []int64, rate float64) (timing, bool) {
	at = at[int(settling*float64(len(at))):]
	if len(at) < 2 {
		return timing{}, false
	}
	gap := 1e9 / rate
	off := make([]float64, len(at)) // in ns
	for i, t := range at {
		off[i] = float64(t-at[0]) - float64(i)*gap
	}
	slices.Sort(off)
	t := timing{Spread: (quantile(off, 0.99) - quantile(off, 0.01)) / 1e3, CV: variation(gapsOf(at))}
	start := quantile(off, 0.5)
	for i := range off {
		off[i] = math.Abs(off[i] - start)
	}
	slices.Sort(off)
	t.P50, t.P99, t.P999 = quantile(off, 0.5)/1e3, quantile(off, 0.99)/1e3, quantile(off, 0.999)/1e3
	return t, true
}

// rateOf returns the rate of arrivals, which are nanoseconds in order, per second,
// after the settling; 0 when there are fewer than two. A tool that takes a second
// of its time to start, or ends early, is not slower for that.
func rateOf(at []int64) float64 {
	at = at[int(settling*float64(len(at))):]
	if len(at) < 2 || at[0] == at[len(at)-1] {
		return 0
	}
	return float64(len(at)-1) * 1e9 / float64(at[len(at)-1]-at[0])
}

// achieved returns which share of the arrivals that were asked for came in time:
// the most that came within a time as long as the run. Some tools send requests
// well before they begin.
func achieved(at []int64, rate float64, span time.Duration) float64 {
	most, first := 0, 0
	for i, t := range at {
		for t-at[first] >= int64(span) {
			first++
		}
		most = max(most, i-first+1)
	}
	return float64(most) / (rate * span.Seconds())
}

// gapsOf returns the times between arrivals, in nanoseconds.
func gapsOf(at []int64) []float64 {
	gaps := make([]float64, max(len(at)-1, 0))
	for i := range gaps {
		gaps[i] = float64(at[i+1] - at[i])
	}
	return gaps
}

// variation returns the coefficient of variation: the standard deviation over
// the mean; 0 when there is none.
func variation(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	var sum float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	if mean == 0 {
		return 0
	}
	var squares float64
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares/float64(len(x))) / mean
}

// quantile returns the q-quantile of sorted values, at least one, by linear
// interpolation between the two next to it.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
