package report

import (
	"cmp"
	"fmt"
	"slices"

	"knee/analysis"
)

// A load is all trials of one offered load in one kind of phase, or in the one
// phase that has a name of its own.
type load struct {
	phase    string // its kind
	name     string // of the phase, or its kind
	intended float64
	x        *float64
	offered  float64 // the medians of the trials
	goodput  float64
	p50, p99 *float64          // of good, in milliseconds
	counts   analysis.Counts   // the sums over the trials
	rejected map[string]uint64 // by reason
	failed   map[string]uint64 // by kind, timeouts among them
	trials   int
	invalid  []string // why, of each trial that supports no claim
}

// valid reports whether any trial supports a claim.
func (l load) valid() bool { return len(l.invalid) < l.trials }

// steady reports whether the load is a point of the goodput curve: the rate was
// constant and no spike came just before.
func (l load) steady() bool {
	switch l.phase {
	case analysis.Base, analysis.Spike, analysis.After, analysis.Hold, analysis.Again, "ramp":
		return false
	}
	return true
}

// loadsOf merges the trials of each load and sorts the loads. What knee itself
// adds around a measurement is left out. Trials that support no claim count
// only where there are no others.
func loadsOf(r *analysis.Result) []load {
	type key struct {
		phase, name, rate string
	}
	var order []key
	steps := map[key][]analysis.Step{}
	for _, s := range r.Steps {
		switch {
		case s.Phase == analysis.Settle, s.Phase == analysis.Drain, s.Phase == analysis.Idle, s.Phase == analysis.ClosedLoop, s.Name == analysis.Threshold:
			continue
		}
		// Six digits: the same load may come out of two calculations.
		k := key{s.Phase, s.Name, fmt.Sprintf("%.6g", s.IntendedRPS)}
		if steps[k] == nil {
			order = append(order, k)
		}
		steps[k] = append(steps[k], s)
	}
	var loads []load
	for _, k := range order {
		loads = append(loads, merge(steps[k]))
	}
	slices.SortStableFunc(loads, func(a, b load) int { return cmp.Compare(a.intended, b.intended) })
	return loads
}

func merge(steps []analysis.Step) load {
	l := load{phase: steps[0].Phase, name: cmp.Or(steps[0].Name, steps[0].Phase), intended: steps[0].IntendedRPS, x: steps[0].LoadX, trials: len(steps), rejected: map[string]uint64{}, failed: map[string]uint64{}}
	var use []analysis.Step
	for _, s := range steps {
		if s.Valid {
			use = append(use, s)
		} else {
			l.invalid = append(l.invalid, s.Why)
		}
	}
	if len(use) == 0 {
		use = steps
	}
	var offered, goodput, p50, p99 []float64
	for _, s := range use {
		offered = append(offered, s.OfferedRPS)
		goodput = append(goodput, s.GoodputRPS)
		if known(s.ResponseMS.P50) {
			p50 = append(p50, *s.ResponseMS.P50)
		}
		if known(s.ResponseMS.P99) {
			p99 = append(p99, *s.ResponseMS.P99)
		}
		l.counts.Add(s.Counts)
		for reason, n := range s.RejectedByReason {
			l.rejected[reason] += n
		}
		for kind, n := range s.FailedByKind {
			l.failed[kind] += n
		}
		if s.Counts.Timeout > 0 {
			l.failed["timeout"] += s.Counts.Timeout
		}
	}
	l.offered, l.goodput = *median(offered), *median(goodput)
	l.p50, l.p99 = median(p50), median(p99)
	return l
}

// median returns nil where there are no values.
func median(vs []float64) *float64 {
	if len(vs) == 0 {
		return nil
	}
	vs = slices.Sorted(slices.Values(vs))
	m := (vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2
	return &m
}
