package report

import (
	"fmt"

	"knee/analysis"
)

// comparisonSentence says what was compared, and how.
func comparisonSentence(g *analysis.Gate) string {
	s := fmt.Sprintf("the candidate, %s, beside the baseline, %s, in %s at up to 10x the knee of %s/s",
		g.Candidate, g.Baseline, plural(g.Blocks, "block"), rate(g.KneeRPS))
	if n := len(g.Void); n > 0 {
		s += fmt.Sprintf("; %d of them void, the last because %s", n, g.Void[n-1])
	}
	return s
}

// comparison returns a line for each metric by which two builds were compared.
func comparison(g *analysis.Gate, o Options) []string {
	if g == nil {
		return nil
	}
	lines := []string{
		o.paint(bold, "candidate beside baseline"),
		"  metric             baseline  candidate   change  interval            worse in  verdict",
	}
	change := func(v *float64) string {
		return maybe(v, func(v float64) string { return fmt.Sprintf("%+.1f%%", 100*v) })
	}
	value := func(v *float64) string {
		return maybe(v, func(v float64) string { return fmt.Sprintf("%.4g", v) })
	}
	for _, m := range g.Metrics {
		interval := absent
		if known(m.ChangeLow, m.ChangeHigh) {
			interval = change(m.ChangeLow) + " to " + change(m.ChangeHigh)
		}
		lines = append(lines, fmt.Sprintf("  %-17s %9s  %9s  %7s  %-18s  %8s  %s", m.Name, value(m.Baseline), value(m.Candidate),
			change(m.Change), interval, fmt.Sprintf("%d of %d", m.Worse, m.Blocks), o.paint(verdictColor(m.Verdict), spell(m.Verdict))))
	}
	return append(lines, "")
}
