package report

import (
	"fmt"
	"strings"

	"knee/analysis"
)

// prices returns a line for each stage at which a rejection was priced, and the
// functions in which it spends its CPU.
func prices(j analysis.Rejection, o Options) []string {
	if len(j.Stages) == 0 {
		return nil
	}
	lines := []string{
		o.paint(bold, "a rejection at each stage"),
		"  stage      no µs    yes µs       q   interval           lost/1000  left at 10x  full at/s  good there/s",
	}
	for _, s := range j.Stages {
		if s.Verdict != "measured" {
			lines = append(lines, fmt.Sprintf("  %-8s %s", s.Stage, because(spell(s.Verdict), s.Why)))
			continue
		}
		there := absent
		if s.Checked != nil {
			there = fixed(s.Checked.GoodputRPS, 1)
			if !s.Checked.Valid {
				there = "not offered"
			}
		}
		share := func(v float64) string { return fixed(100*v, 1) + "%" }
		lines = append(lines, fmt.Sprintf("  %-8s %7s %9s  %6s   %-17s  %9s  %11s  %9s  %12s", s.Stage,
			maybe(s.RejectCPUUS, decimals(1)), maybe(s.SuccessCPUUS, decimals(1)), maybe(s.Q, decimals(4)),
			interval(s.QLow, s.QHigh, decimals(4)), maybe(s.LostPer1000, decimals(2)), maybe(s.Retention10X, share),
			maybe(s.CollapseRPS, rate), there))
	}
	for _, s := range j.Stages {
		if len(s.Hot) == 0 {
			continue
		}
		var parts []string
		for _, h := range s.Hot {
			parts = append(parts, fmt.Sprintf("%s %s", h.Function, fixed(h.PerRejectUS, 1)))
		}
		lines = append(lines, wrap("  "+s.Stage+" spends, µs per rejection: "+strings.Join(parts, ", "), o.width(), 4))
	}
	return append(lines, "")
}
