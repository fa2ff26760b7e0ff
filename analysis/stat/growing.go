package stat

import (
	"math"
	"time"
)

// Growing reports whether a backlog rose throughout a trial. inFlight is the
// number of requests in flight, sampled every dt after the trial settled. slope
// and low, its lower bound, are in requests per second.
//
// It is growing when all of these hold:
//
//   - the Theil–Sen slope is positive at the lower end of its 95 % interval:
//     the rise is no scatter around a level;
//   - the rise over the trial is at least 1.645 standard deviations of a random
//     walk with the increments seen: the rise is no wandering, which a busy
//     queue does for seconds (low is the smaller bound of these two);
//   - it is material: at least 5 requests and a quarter of the mean in flight.
//
// Fewer than 6 samples never grow.
func Growing(inFlight []float64, dt time.Duration) (growing bool, slope, low float64) {
	n := len(inFlight)
	if n < 6 || dt <= 0 {
		return false, 0, math.Inf(-1)
	}
	x := make([]float64, n)
	mean := 0.0
	for i, v := range inFlight {
		x[i] = float64(i) * dt.Seconds()
		mean += v / float64(n)
	}
	s := TheilSen(x, inFlight)
	span := x[n-1]
	rise := s.Value * span

	step := (inFlight[n-1] - inFlight[0]) / float64(n-1)
	walk := 0.0
	for i := 1; i < n; i++ {
		d := inFlight[i] - inFlight[i-1] - step
		walk += d * d
	}
	const z = 1.6448536269514722 // normal quantile of 0.95
	low = min(s.Low, (rise-z*math.Sqrt(walk))/span)
	return low > 0 && rise >= max(5, mean/4), s.Value, low
}
