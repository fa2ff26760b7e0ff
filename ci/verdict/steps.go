package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"knee/analysis"
)

// count finds a number of originals, or its share of planned. Steps that were
// not honestly offered may have added anything to it; what the generator did
// not send is known of them too.
func (c Check) count(r *analysis.Result) finding {
	steps, why := c.named(r)
	if c.At != (Value{}) && why == "" {
		steps, why = c.at(r, steps)
	}
	if why != "" {
		return unsettled(why)
	}
	own := c.Metric == "unsent"
	var total, planned uint64
	doubt := ""
	for _, s := range steps {
		k := c.countsOf(s)
		if !measured(s) {
			continue
		}
		if !supports(s) && !own {
			doubt = invalid(s)
			continue
		}
		total += countOf(k, c.Metric)
		planned += k.Planned
	}
	share := c.Value.Unit == Percent
	switch {
	case planned == 0 && doubt != "":
		return unsettled(doubt)
	case planned == 0:
		return noSamples("")
	case share && doubt != "" && c.At == (Value{}) && c.In == "":
		return unsettled(doubt)
	case share:
		return exactly(float64(total)/float64(planned), Percent)
	case doubt != "":
		return finding{low: float64(total), high: infinite, why: doubt}
	}
	return exactly(float64(total), NoUnit)
}

// goodput finds the rate of good originals at a load. Without one it finds the
// loads between which it lies, so that a check holds when it holds at all.
func (c Check) goodput(r *analysis.Result) finding {
	perUnit := 1.0
	if c.Value.Unit == X {
		if r.Capacity.RPS == nil || *r.Capacity.RPS <= 0 {
			return unsettled("the capacity that x is a multiple of is not known")
		}
		perUnit = *r.Capacity.RPS
	}
	return c.overLoads(r, func(trials []analysis.Step) finding {
		var good, planned uint64
		var seconds float64
		for _, s := range trials {
			k := c.countsOf(s)
			good, planned, seconds = good+k.Good, planned+k.Planned, seconds+s.DurationS
		}
		if planned == 0 || seconds <= 0 {
			return noSamples("")
		}
		return exactly(float64(good)/seconds/perUnit, c.Value.Unit)
	})
}

// latency finds a quantile at a load. That of several trials together lies
// between the least and the greatest of them: quantiles cannot be averaged.
func (c Check) latency(r *analysis.Result, population, quantile string) finding {
	return c.overLoads(r, func(trials []analysis.Step) finding {
		f := finding{low: infinite, unit: Duration}
		var samples, most int64
		for _, s := range trials {
			l := c.latencyOf(s, population)
			samples, most = samples+l.Count, max(most, l.Count)
			q := quantileOf(l, quantile)
			if q == nil || l.Count < quantiles[quantile] {
				continue
			}
			ns := *q * float64(time.Millisecond)
			f.low, f.high = min(f.low, ns), max(f.high, ns)
		}
		switch {
		case samples == 0:
			return noSamples("nothing was " + population)
		case f.low == infinite:
			return unsettled(fmt.Sprintf("too few samples for %s: %d, and it takes %d in one trial", quantile, most, quantiles[quantile]))
		}
		f.why = "the trials disagree" // of use only when the limit lies between them
		return f
	})
}

// overLoads finds a number at the load or in the phase of the check, from the
// trials there. Without either it takes the finding that decides: a check must
// hold at every load.
func (c Check) overLoads(r *analysis.Result, of func(trials []analysis.Step) finding) finding {
	trials, why := c.named(r)
	if c.At != (Value{}) && why == "" {
		trials, why = c.at(r, trials)
	}
	if why != "" {
		return unsettled(why)
	}
	if c.At != (Value{}) || c.In != "" {
		if trials, why = honest(trials); len(trials) == 0 {
			return unsettled(why)
		}
		return of(trials)
	}
	var all, numbers []finding
	for _, trials := range byLoad(r.Steps) {
		f := unsettled("")
		if valid, why := honest(trials); len(valid) > 0 {
			f = of(valid)
		} else {
			f.why = why
		}
		f.note = "at " + show(trials[0].IntendedRPS, Rate)
		all = append(all, f)
		if f.verdict == "" {
			numbers = append(numbers, f)
		}
	}
	if c.occasional() && len(numbers) > 0 {
		all = numbers
	}
	if len(all) == 0 {
		return noSamples("")
	}
	worst := all[0]
	for _, f := range all[1:] {
		if c.worse(f, worst) {
			worst = f
		}
	}
	return worst
}

// occasional reports whether the check is about answers that an easy load may
// rightly do without.
func (c Check) occasional() bool {
	return strings.HasPrefix(c.Metric, "rejected.") || strings.HasPrefix(c.Metric, "late.")
}

// worse reports whether f decides rather than g: a fail before an
// inconclusive before a pass, and of two alike the one nearer to failing.
func (c Check) worse(f, g finding) bool {
	rank := map[string]int{Fail: 2, Inconclusive: 1}
	fv, _ := c.settle(f)
	gv, _ := c.settle(g)
	if fv != gv {
		return rank[fv] > rank[gv]
	}
	if f.verdict != "" || g.verdict != "" {
		return false
	}
	if strings.HasPrefix(c.Op, ">") {
		return f.low < g.low
	}
	return f.high > g.high
}

// measured reports whether a step belongs to what the run measures.
func measured(s analysis.Step) bool { return s.Phase != "settle" && s.Phase != "drain" }

// steady reports whether a step holds one load that a check can speak of.
func steady(s analysis.Step) bool { return measured(s) && s.IntendedRPS > 0 && s.Phase != "ramp" }

// supports reports whether a step can be judged. One without arrivals can: it
// has no samples, and that is not the generator's fault.
func supports(s analysis.Step) bool { return s.Valid || s.Counts.Planned == 0 }

// named returns the steps in the phase of the check, or why there are none;
// without a phase it returns all. Names go before kinds.
func (c Check) named(r *analysis.Result) (steps []analysis.Step, why string) {
	if c.In == "" {
		return r.Steps, ""
	}
	var kinds []analysis.Step
	for _, s := range r.Steps {
		switch {
		case !measured(s):
		case s.Name == c.In:
			steps = append(steps, s)
		case s.Phase == c.In:
			kinds = append(kinds, s)
		}
	}
	if len(steps) == 0 {
		steps = kinds
	}
	if len(steps) == 0 {
		return nil, fmt.Sprintf("phase %s was not run", c.In)
	}
	return steps, ""
}

// at returns those of steps at the load of the check, or why there are none.
func (c Check) at(r *analysis.Result, among []analysis.Step) (steps []analysis.Step, why string) {
	want, perUnit := c.At.Number, 1.0
	if c.At.Unit == X {
		if r.Capacity.RPS == nil || *r.Capacity.RPS <= 0 {
			return nil, "the capacity that x is a multiple of is not known"
		}
		perUnit = *r.Capacity.RPS
	}
	nearest := infinite
	for _, s := range among {
		if !steady(s) {
			continue
		}
		load := s.IntendedRPS / perUnit
		if near(load, want) {
			steps = append(steps, s)
		}
		if distance(load, want) < distance(nearest, want) {
			nearest = load
		}
	}
	switch {
	case len(steps) > 0:
		return steps, ""
	case nearest == infinite:
		return nil, fmt.Sprintf("load %s was not reached: there was none", c.At)
	}
	return nil, fmt.Sprintf("load %s was not reached: the nearest is %s", c.At, show(nearest, c.At.Unit))
}

func distance(a, b float64) float64 { return max(a-b, b-a) }

// honest returns the steps that support a claim, and why others do not.
func honest(steps []analysis.Step) (valid []analysis.Step, why string) {
	for _, s := range steps {
		if supports(s) {
			valid = append(valid, s)
		} else {
			why = invalid(s)
		}
	}
	return valid, why
}

func invalid(s analysis.Step) string {
	why := fmt.Sprintf("load %s was not honestly offered", show(s.IntendedRPS, Rate))
	if s.Why != "" {
		why += ": " + s.Why
	}
	return why
}

// byLoad groups the steady steps by load, in rising order.
func byLoad(steps []analysis.Step) [][]analysis.Step {
	var kept []analysis.Step
	for _, s := range steps {
		if steady(s) {
			kept = append(kept, s)
		}
	}
	slices.SortStableFunc(kept, func(a, b analysis.Step) int { return cmp.Compare(a.IntendedRPS, b.IntendedRPS) })
	var groups [][]analysis.Step
	for _, s := range kept {
		if n := len(groups); n > 0 && near(s.IntendedRPS, groups[n-1][0].IntendedRPS) {
			groups[n-1] = append(groups[n-1], s)
			continue
		}
		groups = append(groups, []analysis.Step{s})
	}
	return groups
}

// countsOf returns the counts of the class of the check in s.
func (c Check) countsOf(s analysis.Step) analysis.Counts {
	if c.Class == "" {
		return s.Counts
	}
	return s.ByClass[c.Class].Counts
}

func (c Check) latencyOf(s analysis.Step, population string) analysis.Latency {
	switch population {
	case "rejected":
		return s.RejectMS
	case "late":
		return s.LateMS
	case "lag":
		return s.LagMS
	}
	if c.Class != "" {
		return s.ByClass[c.Class].ResponseMS
	}
	return s.ResponseMS
}

func quantileOf(l analysis.Latency, name string) *float64 {
	switch name {
	case "p50":
		return l.P50
	case "p90":
		return l.P90
	case "p99":
		return l.P99
	case "p999":
		return l.P999
	}
	return l.Max
}

func countOf(k analysis.Counts, name string) uint64 {
	return map[string]uint64{
		"planned": k.Planned, "unsent": k.Unsent, "withheld": k.Withheld, "sent": k.Sent,
		"good": k.Good, "degraded": k.Degraded, "late": k.Late, "rejected": k.Rejected,
		"timeout": k.Timeout, "failed": k.Failed, "unfinished": k.Unfinished, "attempts": k.Attempts,
	}[name]
}
