package recovery

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"knee/analysis/stat"
)

const (
	// leastWindows that do not overlap is what a trend of shares is read from.
	leastWindows = 8
	// hopeless times the time looked at is when a share has to reach its goal, at the
	// steep end of its interval, not to count as level.
	hopeless = 10
	// A backlog is full when load is turned away, at least turnedAway of it, and the last
	// third of what was seen is at least full times the first.
	turnedAway = 0.01
	full       = 0.9
	// unanswered is the share of requests that may go without any answer for the number
	// in flight to say how much work there is: callers who gave up are not in it.
	unanswered = 0.1
	// patient times the recovery predicted is how long it takes until no answers at all
	// say something.
	patient = 3
)

// A signal is a measure of the work that is left over, which is done when it is at
// goal.
type signal struct {
	name  string
	goal  float64
	level []float64 // one for each window
}

// trend decides between slow and not recovered by the last two thirds of the
// windows: by the best measure of the backlog that is known, and else by the share
// that is lost.
func (o *Options) trend(r *Result, after, judged []Window, spikeEnd time.Duration) {
	tail := after[len(after)/3:]
	if s := o.backlog(tail); s != nil {
		o.drift(r, s, tail, spikeEnd)
		return
	}
	o.share(r, judged, spikeEnd)
}

// backlog returns the best measure of the work left over that is known in all
// windows, nil when none is.
func (o *Options) backlog(tail []Window) *signal {
	var inside, late, open []float64
	var sent, lost uint64
	for _, w := range tail {
		inside = append(inside, w.Backlog)
		open = append(open, w.InFlight)
		if w.Late > 0 {
			late = append(late, w.Late.Seconds())
		}
		sent, lost = sent+w.Sent, lost+w.Lost
	}
	served := cmp.Or(o.Capacity, o.BaseRate) * o.Deadline.Seconds() // within the deadline
	switch {
	case known(inside):
		return &signal{"the server's backlog", served, inside}
	case len(late) == len(tail) && len(late) > 0:
		return &signal{"the time to a late answer", o.Deadline.Seconds(), late}
	case known(open) && float64(lost) <= unanswered*float64(sent):
		return &signal{"the number in flight", served, open}
	}
	return nil
}

func known(level []float64) bool {
	for _, v := range level {
		if v != 0 {
			return true
		}
	}
	return false
}

// drift decides by a level that wanders.
func (o *Options) drift(r *Result, s *signal, tail []Window, spikeEnd time.Duration) {
	every := o.Every.Seconds()
	batch := int(math.Ceil(max(1, 2*o.Deadline.Seconds()) / every))
	d := stat.Drift(s.level, batch, o.Confidence)
	end := (tail[len(tail)-1].At + o.Every - spikeEnd).Seconds()
	now := stat.Median(s.level[max(0, len(s.level)-batch):])
	slope := stat.Slope{Value: d.Value / every, Low: d.Low / every, High: d.High / every}
	o.decide(r, s, slope, now, end-float64(min(batch, len(tail)))*every/2, end)
	if r.Verdict == Inconclusive && now > s.goal && !math.IsInf(d.Low, -1) && isFull(s.level, tail) {
		r.Verdict = NotRecovered
		r.Why = fmt.Sprintf("goodput was not back after %.3g s, and %s stays full", end, s.name)
	}
}

// isFull says whether a level stays where it is because more is turned away.
func isFull(level []float64, tail []Window) bool {
	var sent, refused uint64
	for _, w := range tail {
		sent, refused = sent+w.Sent, refused+w.Refused
	}
	third := max(1, len(level)/3)
	return float64(refused) >= turnedAway*float64(sent) && stat.Median(level[len(level)-third:]) >= full*stat.Median(level[:third])
}

// share decides by the share of requests that are lost.
func (o *Options) share(r *Result, judged []Window, spikeEnd time.Duration) {
	tail := apart(judged[len(judged)/3:], r.Resolution)
	var x, y []float64
	answered := false
	for _, w := range tail {
		if v := w.ratio(); !math.IsNaN(v) {
			x, y = append(x, (w.At+r.Resolution/2-spikeEnd).Seconds()), append(y, 1-v)
			answered = answered || w.Good > 0 || w.Lost < w.Sent
		}
	}
	r.Verdict = Inconclusive
	if len(x) < leastWindows {
		r.Why = fmt.Sprintf("goodput was not back, and %d windows of %v show no trend", len(tail), r.Resolution)
		return
	}
	span := x[len(x)-1]
	if !answered && span < patient*o.Predicted.Seconds() {
		r.Why = fmt.Sprintf("nothing was answered for %.3g s, and it takes %.3g s to know that nothing will be", span, patient*o.Predicted.Seconds())
		return
	}
	s := &signal{name: "the share that is lost", goal: 1 - healthyShare*o.Baseline}
	slope := stat.TheilSen(x, y)
	now, then := stat.Median(y[len(y)/2:]), stat.Median(x[len(x)/2:])
	o.decide(r, s, slope, now, then, span)
	if r.Verdict != NotRecovered && reach(s, slope.Low, now, then) >= hopeless*span {
		r.Verdict, r.Projection = NotRecovered, 0
		r.Why = fmt.Sprintf("goodput was not back after %.3g s, and %s does not fall", span, s.name)
	}
}

// reach returns when a signal that is at now at the instant then is at its goal.
func reach(s *signal, slope, now, then float64) float64 { return then + max(0, now-s.goal)/-slope }

// decide sets the verdict by the slope per second of a signal that is at now at the
// instant then; end is how long was looked.
func (o *Options) decide(r *Result, s *signal, slope stat.Slope, now, then, end float64) {
	switch {
	case slope.High < 0 && !math.IsInf(slope.Low, -1):
		r.Verdict = Slow
		r.Projection = time.Duration(min(max(end, reach(s, slope.Value, now, then)), maxProjection) * float64(time.Second))
		r.Why = fmt.Sprintf("goodput was not back after %.3g s, but %s falls", end, s.name)
	case slope.Low >= 0:
		r.Verdict = NotRecovered
		r.Why = fmt.Sprintf("goodput was not back after %.3g s, and %s does not fall", end, s.name)
	default:
		r.Verdict = Inconclusive
		r.Why = fmt.Sprintf("goodput was not back after %.3g s, and it is open whether %s falls", end, s.name)
	}
}

// maxProjection, in seconds, is about a century: what a time.Duration holds.
const maxProjection = 3e9

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
