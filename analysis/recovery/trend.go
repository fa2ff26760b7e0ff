package recovery

import (
	"fmt"
	"math"
	"time"

	"knee/analysis/stat"
)

// A trend is read from at least leastWindows windows that do not overlap. One
// that reaches its goal no sooner than hopeless times the time looked at, even
// at the steep end of its interval, is none.
const (
	leastWindows = 8
	hopeless     = 10
)

// signal is a measure of the backlog, which is over when it is at goal. of is
// NaN where it is unknown.
type signal struct {
	name string
	goal float64
	of   func(Window) float64
}

// signals are tried in this order. The time to a late answer is the best of
// them: it is the backlog as seen from outside.
func (o *Options) signals() []signal {
	known := func(v float64) float64 {
		if v == 0 {
			return math.NaN()
		}
		return v
	}
	return []signal{
		{"the time to a late answer", o.Deadline.Seconds(), func(w Window) float64 { return known(w.Late.Seconds()) }},
		{"the number in flight", o.BaseRate * o.Deadline.Seconds(), func(w Window) float64 { return known(w.InFlight) }},
		{"the share that is lost", 1 - healthyShare*o.Baseline, func(w Window) float64 { return 1 - w.ratio() }},
	}
}

// trend decides between slow and not recovered by the last two thirds of the
// windows: slow when the first signal with a clear trend falls.
func (o *Options) trend(r *Result, judged []Window, spikeEnd time.Duration) {
	tail := apart(judged[len(judged)/3:], r.Resolution)
	if len(tail) < leastWindows {
		r.Why = fmt.Sprintf("goodput was not back, and %d windows of %v show no trend", len(tail), r.Resolution)
		return
	}
	r.Verdict, r.Why = NotRecovered, "goodput was not back, and nothing shows that it will be"
	for _, s := range o.signals() {
		var x, y []float64
		for _, w := range tail {
			if v := s.of(w); !math.IsNaN(v) {
				x, y = append(x, (w.At+r.Resolution/2-spikeEnd).Seconds()), append(y, v)
			}
		}
		if len(x) < leastWindows {
			continue
		}
		fit := stat.TheilSen(x, y)
		now, then := stat.Median(y[len(y)/2:]), stat.Median(x[len(x)/2:])
		reach := func(slope float64) float64 { return then + max(0, now-s.goal)/-slope }
		span := x[len(x)-1]
		switch {
		case fit.High < 0 && reach(fit.Value) < hopeless*span:
			r.Verdict = Slow
			r.Projection = time.Duration(max(span, reach(fit.Value)) * float64(time.Second))
			r.Why = fmt.Sprintf("goodput was not back, but %s falls", s.name)
			return
		case fit.Low >= 0 || reach(fit.Low) >= hopeless*span:
			r.Verdict = NotRecovered
			r.Why = fmt.Sprintf("goodput was not back, and %s does not fall", s.name)
			return
		}
		r.Verdict = Inconclusive
		r.Why = fmt.Sprintf("goodput was not back, and it is open whether %s falls", s.name)
	}
}

// apart returns those of windows that do not overlap, the last one among them.
func apart(windows []Window, length time.Duration) []Window {
	var out []Window
	for i := len(windows) - 1; i >= 0; i-- {
		if len(out) == 0 || windows[i].At+length <= out[len(out)-1].At {
			out = append(out, windows[i])
		}
	}
	return out
}
