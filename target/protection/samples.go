package protection

import (
	"math"
	"time"
)

// A sample is what a request that left tells an adaptive limit.
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

// A sampleWindow makes one sample of those of a window, as WindowedLimit of
// Netflix' concurrency-limits does: the average time, the most inside, and
// whether any was dropped. What took less than 100 µs is left out, so a server
// that is faster never teaches a limit anything, and a window of fewer than ten
// samples is thrown away; so is the first, which closes on its first sample.
type sampleWindow struct {
	every time.Duration // 0: each sample counts for itself

	next    time.Duration // the window closes with the first sample after this
	n       int
	sum     float64
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
	if w.every == 0 {
		return s, s.rtt > 0
	}
	if s.rtt < leastRTT {
		return sample{}, false
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
	*w = sampleWindow{every: w.every, next: now + w.every}
	return whole, ready
}

// log10root is the unit in which Vegas counts requests in the queue: the decimal
// logarithm of the limit, rounded down, but at least 1.
func log10root(limit float64) float64 {
	return math.Max(1, math.Floor(math.Log10(math.Floor(math.Max(limit, 1)))+1e-12))
}
