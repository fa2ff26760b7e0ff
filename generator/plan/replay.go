package plan

import (
	"fmt"
	"slices"
	"time"
)

// Replay says when Replayed arrivals come: at the Offsets, or as many in each
// stretch of Every as Counts says, evenly spread. Exactly one of both is given.
type Replay struct {
	Offsets []time.Duration // since the start of the plan, in any order; at most MaxReplay
	Counts  []int           // of successive stretches, at least 0 each; at most MaxReplay
	Every   time.Duration   // length of a stretch of Counts, from 1ms; 0 means a second
}

// Bounds of a Replay.
const (
	MaxReplay = 10_000_000 // offsets, or counts
	MinEvery  = time.Millisecond
)

// Lasts returns the time from the start to the end of the stretch that holds
// the last arrival; stretches of offsets are seconds.
func (r *Replay) Lasts() time.Duration {
	if len(r.Counts) > 0 {
		return time.Duration(len(r.Counts)) * r.every()
	}
	if len(r.Offsets) == 0 {
		return 0
	}
	return slices.Max(r.Offsets).Truncate(time.Second) + time.Second
}

func (r *Replay) every() time.Duration {
	if r.Every == 0 {
		return time.Second
	}
	return r.Every
}

func (r *Replay) check(f *faults) {
	switch {
	case len(r.Offsets) == 0 && len(r.Counts) == 0:
		f.add("replay", "empty", "offsets or counts")
		return
	case len(r.Offsets) > 0 && len(r.Counts) > 0:
		f.add("replay.counts", "given beside offsets", "one of both")
		return
	case len(r.Offsets) > MaxReplay:
		f.add("replay.offsets", len(r.Offsets), fmt.Sprintf("at most %d", MaxReplay))
		return
	case len(r.Counts) > MaxReplay:
		f.add("replay.counts", len(r.Counts), fmt.Sprintf("at most %d", MaxReplay))
		return
	}
	if r.Every != 0 && (len(r.Counts) == 0 || r.Every < MinEvery || r.Every > MaxDuration) {
		f.add("replay.every", r.Every, "a duration of at least 1ms, with counts")
		return
	}
	for i, d := range r.Offsets {
		if d < 0 || d >= MaxDuration {
			f.add(fmt.Sprintf("replay.offsets[%d]", i), d, "a duration of at least 0, below "+MaxDuration.String())
		}
	}
	for i, n := range r.Counts {
		if n < 0 || float64(n) > MaxRate*r.every().Seconds() {
			f.add(fmt.Sprintf("replay.counts[%d]", i), n, "a number from 0 to 1000000 a second")
		}
	}
	if time.Duration(len(r.Counts)) > MaxDuration/r.every() {
		f.add("replay.counts", fmt.Sprintf("%d of %v", len(r.Counts), r.every()), fmt.Sprintf("less, so that the plan takes at most %v in all", MaxDuration))
	}
}

// segments returns the stretches of the counts.
func (r *Replay) segments() []segment {
	every := r.every()
	segments := make([]segment, len(r.Counts))
	for i, n := range r.Counts {
		rate := float64(n) / every.Seconds()
		segments[i] = segmentOf(time.Duration(i)*every, every, rate, rate)
		segments[i].area = float64(n) // whatever the rounding of the rate
	}
	return segments
}
