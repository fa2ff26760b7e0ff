package analysis

import (
	"cmp"
	"math"
	"slices"
	"time"

	"knee/analysis/recovery"
	"knee/generator/record"
)

// A Fault says for how long a fault was in the server.
type Fault struct {
	Kind  string        `json:"kind"`
	Start time.Duration `json:"start_ns"` // on the clock of the run
	End   time.Duration `json:"end_ns"`   // 0: it was not seen to end
}

// A disturbance is a time in which at least one fault was in the server.
type disturbance struct{ start, end time.Duration }

// disturbances are the times in which faults were there, ascending and apart
// from one another. What was there from the first step to the last disturbed
// nothing: it is part of the server that was measured.
func (m Meta) disturbances(recorded []*record.Step) []disturbance {
	if len(recorded) == 0 {
		return nil
	}
	first, last := recorded[0].Info, recorded[len(recorded)-1].Info
	var all []disturbance
	for _, f := range m.Faults {
		d := disturbance{f.Start, f.End}
		if d.end == 0 {
			d.end = math.MaxInt64
		}
		if d.start > first.Start || d.end < last.Start+last.Duration {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b disturbance) int { return cmp.Compare(a.start, b.start) })
	merged := all[:0]
	for _, d := range all {
		if n := len(merged); n > 0 && (merged[n-1].end == math.MaxInt64 || d.start <= merged[n-1].end+apart) {
			merged[n-1].end = max(merged[n-1].end, d.end)
			continue
		}
		merged = append(merged, d)
	}
	return merged
}

// apart is how far apart two faults have to be not to be one disturbance: live
// ones come and go some milliseconds late, and health is seen in windows.
const apart = record.Window

// disturbed says whether a fault came or went in a step, or has come earlier in
// its trial: what it left behind may be there still.
func disturbed(s *record.Step, recorded []*record.Step, faults []disturbance) bool {
	for _, d := range faults {
		if d.start >= s.Info.Start+s.Info.Duration {
			continue
		}
		if in := stepAt(recorded, d.start); d.end > s.Info.Start || in >= 0 && recorded[in].Info.Trial == s.Info.Trial {
			return true
		}
	}
	return false
}

// stepAt returns the index of the step that an instant falls into, -1 when there is none.
func stepAt(recorded []*record.Step, at time.Duration) int {
	return slices.IndexFunc(recorded, func(s *record.Step) bool {
		return s.Info.Start <= at && at < s.Info.Start+s.Info.Duration
	})
}

// afterFaults measures what followed each disturbance. why says why one says
// nothing.
func afterFaults(recorded []*record.Step, series *record.Series, m Meta, capacity float64) (all []trigger, why string) {
	faults := m.disturbances(recorded)
	for i, d := range faults {
		steady, rest := sameLoad(recorded, d, m)
		if steady == nil {
			why = "a fault needs the same load before and after it"
			continue
		}
		a := surroundings{before: steady[0]}
		a.follow(rest)
		// The baseline is the time before the first one that hit this load.
		first := faults[slices.IndexFunc(faults, func(d disturbance) bool { return d.start > steady[0].Info.Start })]
		next := time.Duration(math.MaxInt64)
		if i+1 < len(faults) {
			next = faults[i+1].start
		}
		var baseline, windows []recovery.Window
		for _, w := range a.windows(series, m, steady...) {
			switch end := w.At + record.Window; {
			case end <= first.start:
				baseline = append(baseline, w)
			case end > d.start && end <= next:
				windows = append(windows, w)
			}
		}
		o := a.options(m, capacity)
		o.Trigger = "fault"
		t := trigger{fault: true, name: steady[0].Info.Name, base: o.BaseRate, lasted: d.end - d.start}
		t.episode.After = recovery.After(slices.Concat(baseline, windows), d.start, d.end, o)
		t.episode.Again = a.afterIdle(baseline, series, m, o)
		all = append(all, t)
	}
	return all, why
}

// sameLoad returns the steps around a disturbance that have one constant load
// between them, nil when they do not begin before it and end after it, and those
// that follow.
func sameLoad(recorded []*record.Step, d disturbance, m Meta) (steady, rest []*record.Step) {
	at := stepAt(recorded, d.start-1)
	if at < 0 || slices.Contains(m.SetAside, recorded[at].Info.Trial) {
		return nil, nil
	}
	base := recorded[at].Info
	same := func(s *record.Step) bool {
		i := s.Info
		return i.Trial == base.Trial && i.From == base.From && i.To == base.From && i.Phase != Settle && i.Phase != Spike
	}
	if !same(recorded[at]) {
		return nil, nil
	}
	from, to := at, at+1
	for from > 0 && same(recorded[from-1]) {
		from--
	}
	for to < len(recorded) && same(recorded[to]) {
		to++
	}
	if last := recorded[to-1].Info; d.end >= last.Start+last.Duration {
		return nil, nil
	}
	return recorded[from:to], recorded[to:]
}
