package recovery

import (
	"math"
	"slices"
	"time"

	"knee/analysis/stat"
)

// split cuts the windows at the spike. One that its end falls into belongs to
// it, and those beyond the horizon are left out.
func split(windows []Window, start, end time.Duration, o Options) (before, during, after []Window) {
	for _, w := range windows {
		switch {
		case w.At+o.Every <= start:
			before = append(before, w)
		case w.At < end:
			during = append(during, w)
		case o.Horizon == 0 || w.At < end+o.Horizon:
			after = append(after, w)
		}
	}
	return before, during, after
}

// until returns the windows before an instant.
func until(windows []Window, at time.Duration) []Window {
	i := slices.IndexFunc(windows, func(w Window) bool { return w.At >= at })
	if i < 0 {
		return windows
	}
	return windows[:i]
}

// fill takes what the options leave open from the windows before the spike. It
// returns why that does not do.
func (o *Options) fill(before []Window) string {
	var sent, good uint64
	var p99 []float64
	for _, w := range before {
		sent, good = sent+w.Sent, good+w.Good
		if w.P99 > 0 {
			p99 = append(p99, float64(w.P99))
		}
	}
	seen := 0.0
	if sent > 0 {
		seen = float64(good) / float64(sent)
	}
	if !(o.Baseline > 0) {
		o.Baseline = seen
	}
	if !(o.BaseRate > 0) && len(before) > 0 {
		o.BaseRate = float64(sent) / (float64(len(before)) * o.Every.Seconds())
	}
	if o.BaselineP99 <= 0 && len(p99) > 0 {
		o.BaselineP99 = time.Duration(stat.Median(p99))
	}
	switch {
	case !(o.BaseRate > 0):
		return "there is no load before the " + o.Trigger
	case o.Baseline < badShare:
		return "the server was not healthy before the " + o.Trigger
	case sent >= 50 && seen < badShare*o.Baseline:
		return "the server was less healthy just before the " + o.Trigger + " than its baseline"
	}
	return ""
}

// slide puts every n neighbours together into one that starts with the first.
// Its p99 is the median of theirs.
func slide(windows []Window, n int) []Window {
	var out []Window
	for i := 0; i+n <= len(windows); i++ {
		part := windows[i : i+n]
		w := Window{At: part[0].At}
		var p99 []float64
		for _, p := range part {
			w.Sent, w.Good, w.Lost = w.Sent+p.Sent, w.Good+p.Good, w.Lost+p.Lost
			if p.P99 > 0 {
				p99 = append(p99, float64(p.P99))
			}
		}
		if len(p99) > 0 {
			w.P99 = time.Duration(stat.Median(p99))
		}
		out = append(out, w)
	}
	return out
}

// ratio is good/sent, NaN without a request: such a window is neither healthy
// nor bad.
func (w Window) ratio() float64 {
	if w.Sent == 0 {
		return math.NaN()
	}
	return float64(w.Good) / float64(w.Sent)
}

func (o *Options) healthy(w Window) bool {
	if !(w.ratio() >= healthyShare*o.Baseline) {
		return false
	}
	ordinary := max(3*o.BaselineP99/2, o.Deadline/2)
	return o.BaselineP99 <= 0 || w.P99 <= ordinary
}

func (o *Options) bad(w Window) bool { return w.ratio() < badShare*o.Baseline }

// settled returns the first healthy window that no bad one follows within the
// next hold, or else before the windows end, which is when held is false; -1
// when there is none.
func (o *Options) settled(windows []Window, hold int) (first int, held bool) {
	first = -1
	for i, w := range windows {
		switch {
		case o.bad(w):
			first = -1
		case first < 0 && o.healthy(w):
			first = i
		}
		if first >= 0 && i-first >= hold {
			return first, true
		}
	}
	return first, false
}

// lost is the number of requests of the base load that would have been good
// without the spike. What is sent beyond the base load counts for nothing.
func (o *Options) lost(windows []Window) float64 {
	sum := 0.0
	base := o.BaseRate * o.Every.Seconds()
	for _, w := range windows {
		sum += max(0, o.Baseline*min(float64(w.Sent), base)-float64(w.Good))
	}
	return sum
}
