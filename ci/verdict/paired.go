package verdict

import (
	"fmt"
	"strconv"

	"knee/analysis"
)

// pairedChecks returns a check for each metric by which a candidate was compared with
// a baseline, but for those of which neither build has a value.
func pairedChecks(g *analysis.Gate) []analysis.Check {
	checks := []analysis.Check{}
	for _, m := range g.Metrics {
		if m.Verdict == "not_tested" {
			continue
		}
		c := analysis.Check{Name: "candidate " + m.Name, Want: allowed(m), Got: changed(m), Verdict: m.Verdict, Why: m.Why}
		checks = append(checks, c)
	}
	if len(checks) == 0 {
		checks = append(checks, analysis.Check{
			Name: "candidate", Want: "no worse than the baseline", Verdict: Inconclusive,
			Why: fmt.Sprintf("%d blocks, of which %d are void, say nothing", g.Blocks, len(g.Void)),
		})
	}
	return checks
}

// allowed says how much worse a candidate may be.
func allowed(m analysis.GateMetric) string {
	if m.Margin == 0 {
		return "no worse than the baseline"
	}
	s := fmt.Sprintf("at most %s%% worse", number(100*m.Margin))
	if m.Floor > 0 {
		s += ", or by " + number(m.Floor) + m.Unit
	}
	return s
}

// changed says how the candidate differs.
func changed(m analysis.GateMetric) string {
	value := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return number(*v) + m.Unit
	}
	s := value(m.Candidate) + " beside " + value(m.Baseline)
	if m.Change != nil {
		s += fmt.Sprintf(" (%+.1f%%", 100**m.Change)
		if m.ChangeLow != nil && m.ChangeHigh != nil {
			s += fmt.Sprintf(", interval %+.1f to %+.1f%%", 100**m.ChangeLow, 100**m.ChangeHigh)
		}
		s += ")"
	}
	return s
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
