package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"knee/analysis"
)

// answers returns a sentence for each question that was asked. Of two builds only
// the comparison is: half of what was measured is of either. A closed loop answers none
// of those about offered load.
func answers(r *analysis.Result, loads []load, o Options) []string {
	var lines []string
	add := func(topic, verdict, sentence string) {
		if sentence == "" {
			return
		}
		line := wrap(topic+": "+sentence, o.width(), 2)
		lines = append(lines, o.paint(verdictColor(verdict), topic)+strings.TrimPrefix(line, topic))
	}
	switch {
	case r.Closed != nil:
		add("closed loop", "", closedSentence(r.Closed))
	case r.Gate != nil:
		add("comparison", "", comparisonSentence(r.Gate))
	default:
		add("knee", r.Knee.Verdict, kneeSentence(r.Knee))
		add("knee by class", "", kneesSentence(r.Knee.ByClass))
		add("plateau", r.Plateau.Verdict, plateauSentence(r, loads))
		add("recovery", r.Recovery.Verdict, recoverySentence(r.Recovery))
		add("metastability", r.Metastability.Verdict, metastabilitySentence(r.Metastability))
		add("rejection cost", r.Rejection.Verdict, rejectionSentence(r.Rejection))
	}
	add("rejections", "", reasonsSentence(loads))
	add("failures", "", failuresSentence(loads))
	add("generator", r.Generator.Verdict, generatorSentence(r.Generator, r.Run.Clock))
	add("reconciliation", reconciled(r.Reconciliation), reconciliationSentence(r.Reconciliation))
	return lines
}

// because joins a verdict in words and the reason for it.
func because(verdict, why string) string {
	if why == "" {
		return verdict
	}
	return verdict + ": " + why
}

// spell turns a verdict such as range_short into words.
func spell(verdict string) string {
	if verdict == "" {
		return "no answer"
	}
	return strings.ReplaceAll(verdict, "_", " ")
}

// interval returns "low to high", with what is absent as "-".
func interval(low, high *float64, format func(float64) string) string {
	return maybe(low, format) + " to " + maybe(high, format)
}

func kneeSentence(k analysis.Knee) string {
	if k.Verdict != "found" {
		s := because(spell(k.Verdict), k.Why)
		if known(k.LowRPS) && !known(k.RPS) {
			s += "; it is above " + rate(*k.LowRPS) + "/s"
		}
		return s
	}
	s := maybe(k.RPS, rate) + "/s"
	if known(k.X) {
		s += " (" + multiple(*k.X) + " of capacity)"
	}
	s += ", interval " + interval(k.LowRPS, k.HighRPS, rate) + "/s"
	if k.Certified {
		s += ", certified"
	}
	if known(k.SaturationRPS) {
		s += ", goodput is highest from " + rate(*k.SaturationRPS) + "/s on"
	}
	if len(k.Flags) > 0 {
		var flags []string
		for _, f := range k.Flags {
			flags = append(flags, spell(f))
		}
		s += " (" + strings.Join(flags, ", ") + ")"
	}
	return s
}

// kneesSentence says up to which load of all together each class is served.
func kneesSentence(byClass map[string]analysis.Knee) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(byClass)) {
		k := byClass[name]
		part := name + " " + spell(k.Verdict)
		switch {
		case k.Verdict == "found":
			part = fmt.Sprintf("%s %s/s (%s)", name, maybe(k.RPS, rate), interval(k.LowRPS, k.HighRPS, rate))
		case known(k.LowRPS):
			part += ", above " + rate(*k.LowRPS) + "/s"
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, "; ") + ", of the load of all together"
}

func plateauSentence(r *analysis.Result, loads []load) string {
	p := r.Plateau
	tested := "as far as it was tested"
	if known(p.TestedToX) {
		tested = "up to " + fixed(*p.TestedToX, 1) + "x the knee"
	}
	least := absent
	if known(p.MinRetention) {
		least = fixed(100**p.MinRetention, 1) + "%"
	}
	switch p.Verdict {
	case "plateau":
		return fmt.Sprintf("holds: at least %s of the goodput is left at every load %s", least, tested)
	case "decline":
		return fmt.Sprintf("declines: %s of the goodput is left at worst, at loads %s", least, tested)
	case "collapse":
		s := fmt.Sprintf("collapses: %s of the goodput is left at worst, at loads %s", least, tested)
		if known(p.CollapseRPS) {
			s += ", below half from " + rate(*p.CollapseRPS) + "/s on"
		}
		if why := collapseCause(r, loads); why != "" {
			s += ", because " + why
		}
		return s
	}
	return because(spell(p.Verdict), p.Why)
}

// A cause is what became of so many requests that were not good.
type cause struct {
	what string
	n    uint64
}

// collapseCause says what became of most requests past the knee that were not
// good.
func collapseCause(r *analysis.Result, loads []load) string {
	from := r.Plateau.CollapseRPS
	if !known(from) {
		from = r.Knee.RPS
	}
	var c analysis.Counts
	for _, l := range loads {
		if l.valid() && l.steady() && (!known(from) || l.intended >= *from) {
			c.Add(l.counts)
		}
	}
	// A request that is still unanswered when its caller stops listening is one
	// that a queue holds for longer yet: the same cause as a late answer.
	late := "served late"
	if c.Timeout > 0 {
		late = fmt.Sprintf("served late (%s%% within the callers' grace, %s%% still unanswered after it)",
			percent(c.Late, c.Planned), percent(c.Timeout, c.Planned))
	}
	if c.Late == 0 && c.Timeout > 0 {
		late = "not answered before their callers stopped listening"
	}
	most := cause{}
	for _, next := range []cause{
		{late, c.Late + c.Timeout},
		{"rejected", c.Rejected},
		{"failed", c.Failed},
		{"withheld by the clients", c.Withheld},
	} {
		if next.n > most.n {
			most = next
		}
	}
	if most.n == 0 {
		return ""
	}
	return fmt.Sprintf("%s%% of the requests there were %s", percent(most.n, c.Planned), most.what)
}

func recoverySentence(v analysis.Recovery) string {
	lost := ""
	if known(v.LostGood) {
		lost = ", " + fixed(*v.LostGood, 0) + " requests lost that would have been good"
	}
	switch v.Verdict {
	case "", "not_tested":
		return because("not tested", v.Why)
	case "recovered":
		return fmt.Sprintf("median %s s after the %s, interval %s s, %s%s",
			maybe(v.MedianS, decimals(1)), triggerOf(v), interval(v.LowS, v.HighS, decimals(1)), triggers(v), lost)
	}
	s := because(spell(v.Verdict)+", "+triggers(v), v.Why)
	if known(v.ProjectionS) {
		s += ", projected after " + fixed(*v.ProjectionS, 1) + " s"
	}
	return s + lost
}

// triggerOf names what goodput had to recover from.
func triggerOf(v analysis.Recovery) string {
	switch {
	case v.Faults == 0:
		return "spike"
	case v.Spikes == 0:
		return "fault"
	}
	return "spike or fault"
}

// triggers counts them.
func triggers(v analysis.Recovery) string {
	switch {
	case v.Faults == 0:
		return plural(v.Spikes, "spike")
	case v.Spikes == 0:
		return plural(v.Faults, "fault")
	}
	return plural(v.Spikes, "spike") + " and " + plural(v.Faults, "fault")
}

func metastabilitySentence(m analysis.Metastability) string {
	if m.Verdict == "" || m.Verdict == "not_tested" {
		return ""
	}
	s := because(spell(m.Verdict), m.Why)
	if m.Stuck != nil && *m.Stuck > 0 && known(m.ShareLow, m.ShareHigh) {
		s += fmt.Sprintf(" (that happens to %s%% of such triggers)", interval(m.ShareLow, m.ShareHigh, func(v float64) string { return fixed(100*v, 0) }))
	}
	if known(m.StableThresholdRPS) {
		s += ", stable up to " + rate(*m.StableThresholdRPS) + "/s"
		if known(m.UnstableRPS) {
			s += " and not at " + rate(*m.UnstableRPS) + "/s"
		}
	} else if known(m.UnstableRPS) {
		s += ", and no stable load was found below " + rate(*m.UnstableRPS) + "/s"
	}
	if known(m.ProjectionS) {
		s += ", projected after " + fixed(*m.ProjectionS, 1) + " s"
	}
	return s
}

func rejectionSentence(j analysis.Rejection) string {
	switch j.Verdict {
	case "", "not_tested":
		return ""
	case "measured":
		if known(j.QLow, j.QHigh) && *j.QLow == 0 && !known(j.RejectCPUUS) {
			return "at most " + fixed(*j.QHigh, 4) + " of a success"
		}
		s := fmt.Sprintf("%s of a success, interval %s", maybe(j.Q, decimals(4)), interval(j.QLow, j.QHigh, decimals(4)))
		if known(j.SuccessCPUUS, j.RejectCPUUS) {
			s += fmt.Sprintf(" (%s µs of CPU, a success %s µs)", fixed(*j.RejectCPUUS, 1), fixed(*j.SuccessCPUUS, 1))
		}
		if known(j.CollapseRPS) {
			s += ", rejections alone fill the server at " + rate(*j.CollapseRPS) + "/s"
		}
		if known(j.Retention10X, j.LostPer1000) {
			s += fmt.Sprintf(", 1,000 of them per second cost %s successes per second, and at 10x %s%% of the goodput is left",
				fixed(*j.LostPer1000, 2), fixed(100**j.Retention10X, 1))
		}
		if known(j.CurveQLow, j.CurveQHigh) {
			s += fmt.Sprintf("; by the curve %s", interval(j.CurveQLow, j.CurveQHigh, decimals(4)))
		}
		return s
	}
	return because(spell(j.Verdict), j.Why)
}

// reasonsSentence lists the most frequent reasons at the highest load.
// reasonsSentence says why requests were rejected at the highest load where any
// were.
func reasonsSentence(loads []load) string {
	for _, l := range slices.Backward(steadyFirst(loads)) {
		if l.counts.Rejected > 0 {
			return "at " + rate(l.intended) + "/s " + shares(l.rejected, "reason")
		}
	}
	return ""
}

// failuresSentence says how requests failed at the lowest load where any did, and
// how many of all there: what goes wrong first is what to look at.
func failuresSentence(loads []load) string {
	for _, l := range steadyFirst(loads) {
		if n := l.counts.Failed + l.counts.Timeout; n > 0 {
			return fmt.Sprintf("%s%% of the requests at %s/s: %s", percent(n, l.counts.Planned), rate(l.intended), shares(l.failed, "kind"))
		}
	}
	return ""
}

// steadyFirst leaves out the loads that are no points of the goodput curve, if any
// is one.
func steadyFirst(loads []load) []load {
	var steady []load
	for _, l := range loads {
		if l.steady() {
			steady = append(steady, l)
		}
	}
	if len(steady) == 0 {
		return loads
	}
	return steady
}

// shares spells out counts as shares of their sum, the largest first.
func shares(counts map[string]uint64, what string) string {
	const top = 4
	var all uint64
	for _, n := range counts {
		all += n
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(top, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %s%%", name, percent(counts[name], all)))
	}
	if more := len(names) - top; more > 0 {
		parts = append(parts, plural(more, "more "+what))
	}
	return strings.Join(parts, ", ")
}

func generatorSentence(g analysis.Generator, clock string) string {
	why := g.Why
	if len(g.Evidence) > 0 {
		why = strings.Join(g.Evidence, "; ")
	}
	s := because(spell(g.Verdict), why)
	if clock == analysis.Virtual {
		return s + " (virtual time)"
	}
	if known(g.LagP99MS) {
		s += ", lag p99 " + fixed(*g.LagP99MS, 2) + " ms"
	}
	if known(g.CeilingRPS) {
		s += ", ceiling " + rate(*g.CeilingRPS) + "/s"
	}
	if known(g.CPUShare) {
		s += ", " + fixed(100**g.CPUShare, 0) + "% of one CPU"
	}
	return s
}

// reconciled is the verdict that a reconciliation amounts to.
func reconciled(c analysis.Reconciliation) string {
	switch {
	case c.Matched == nil:
		return ""
	case *c.Matched:
		return "ok"
	}
	return "fail"
}

func reconciliationSentence(c analysis.Reconciliation) string {
	switch {
	case c.Matched == nil:
		return "the server's own counts are not known"
	case *c.Matched:
		return "the server's own counts match"
	}
	return because("the server's own counts differ", strings.Join(c.Differences, "; "))
}
