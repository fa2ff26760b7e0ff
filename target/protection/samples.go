package protection

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// A sample is what a request that left tells an adaptive limit. The limits count
// what waits for a worker as well as what has one, so the wait is part of the
// time: it is by the wait that they see that they let in too many. Netflix' limits
// mostly stand where nothing waits behind them.
type sample struct {
	rtt     float64 // nanoseconds from its arrival to its end, the wait in the queue included
	inside  int     // requests inside when it was let in, itself included
	dropped bool
}

// sampleOf turns an end into a sample. A request that was let in and then
// dropped from the queue, or that failed, counts as dropped, like a timeout at a
// caller of Netflix' limits. One that a later protection refused was never
// inside, and is none.
func sampleOf(r *Request, e End) (sample, bool) {
	if r.InFlight == 0 {
		return sample{}, false
	}
	return sample{rtt: float64(e.Waited + e.Served), inside: r.InFlight, dropped: e.Outcome != Served}, true
}

// adaptive is what the limits of Netflix' concurrency-limits have in common: a
// gate in front, and samples of what leaves.
type adaptive struct {
	*gate
	window sampleWindow
}

// newAdaptive returns the common part, and all that is wrong with its knobs.
func newAdaptive(s Setup, w WindowKnobs, p PartitionKnobs) (adaptive, error) {
	gate, err := p.build(s)
	window, werr := w.build()
	return adaptive{gate: gate, window: window}, errors.Join(err, werr)
}

// sample counts r out and returns what the limit is to learn from, if there is
// something.
func (a *adaptive) sample(now time.Duration, r *Request, e End) (sample, bool) {
	a.leave(r)
	one, ok := sampleOf(r, e)
	if !ok {
		return sample{}, false
	}
	return a.window.add(now, one)
}

// WindowKnobs say what an adaptive limit takes for one sample. They are part of
// the knobs of those that come from Netflix' concurrency-limits, whose windows are
// of a second.
type WindowKnobs struct {
	Window    time.Duration `yaml:"window" doc:"learn from the average of all that end in such a time, if they are at least 10; what took less than 100µs is left out, so a server that is faster teaches nothing; 0: learn from each"`
	MaxWindow time.Duration `yaml:"max_window" doc:"longest window: each is twice the shortest time in the one before, from window to this; at least window; 0 means window"`
}

// build returns the window, and all that is wrong with its knobs.
func (k WindowKnobs) build() (sampleWindow, error) {
	w := sampleWindow{shortest: k.Window, longest: max(k.Window, k.MaxWindow)}
	var errs []error
	if k.Window < 0 {
		errs = append(errs, plugin.Knob("window", k.Window, "a duration above 0, or 0 for each request"))
	}
	switch {
	case k.MaxWindow < 0:
		errs = append(errs, plugin.Knob("max_window", k.MaxWindow, "a duration of at least window, or 0 for window"))
	case k.MaxWindow > 0 && k.Window == 0:
		errs = append(errs, plugin.Knob("max_window", k.MaxWindow, "none without window"))
	case k.MaxWindow > 0 && k.MaxWindow < k.Window:
		errs = append(errs, plugin.Knob("max_window", k.MaxWindow, "a duration of at least window"))
	}
	return w, errors.Join(errs...)
}

// A sampleWindow makes one sample of those of a window, as WindowedLimit of
// Netflix' concurrency-limits does: the average time, the most inside, and
// whether any was dropped. What took less than 100 µs is left out, so a server
// that is faster never teaches a limit anything, and a window of fewer than ten
// samples is thrown away; so is the first, which closes on its first sample.
type sampleWindow struct {
	shortest, longest time.Duration // 0: each sample counts for itself

	next    time.Duration // the window closes with the first sample after this
	n       int
	sum     float64
	quick   float64 // the shortest time
	inside  int
	dropped bool
}

const (
	leastSamples = 10
	leastRTT     = float64(100 * time.Microsecond)
)

// add takes a sample of a request that left at now, and returns the one that a
// limit is to learn from, if there is one.
func (w *sampleWindow) add(now time.Duration, s sample) (sample, bool) {
	if w.shortest == 0 {
		return s, s.rtt > 0
	}
	if s.rtt < leastRTT {
		return sample{}, false
	}
	if w.n == 0 || s.rtt < w.quick {
		w.quick = s.rtt
	}
	w.n++
	w.sum += s.rtt
	w.inside = max(w.inside, s.inside)
	w.dropped = w.dropped || s.dropped
	if now <= w.next {
		return sample{}, false
	}
	whole := sample{rtt: w.sum / float64(w.n), inside: w.inside, dropped: w.dropped}
	ready := w.n >= leastSamples
	length := time.Duration(min(max(2*w.quick, float64(w.shortest)), float64(w.longest)))
	*w = sampleWindow{shortest: w.shortest, longest: w.longest, next: now + length}
	return whole, ready
}

// log10root is the unit in which Vegas counts requests in the queue: the decimal
// logarithm of the limit, rounded down, but at least 1. Upstream it is a whole
// number at every limit; ports that leave it a fraction from 1000 on differ.
func log10root(limit float64) float64 {
	root := 0
	for n := int(limit); n >= 10; n /= 10 {
		root++
	}
	return float64(max(1, root))
}
