package report

import (
	"fmt"

	"knee/analysis"
)

// closedLoop returns a line for each number of callers.
func closedLoop(c *analysis.Closed, o Options) []string {
	lines := []string{
		o.paint(bold, "closed loop: callers that wait for each answer"),
		"  callers goodput/s  other%   p50 ms   p99 ms  server CPU  beside the law",
	}
	share := func(v float64) string { return fixed(100*v, 1) + "%" }
	signed := func(v float64) string { return fmt.Sprintf("%+.1f%%", 100*v) }
	for _, p := range c.Points {
		lines = append(lines, fmt.Sprintf("  %7d %9s %7s %8s %8s %11s  %14s", p.Callers, rate(p.GoodputRPS), fixed(100*p.OtherShare, 1),
			maybe(p.P50MS, decimals(1)), maybe(p.P99MS, decimals(1)), maybe(p.CPUShare, share), maybe(p.Residual, signed)))
	}
	return lines
}

// closedSentence says what the Universal Scalability Law makes of a closed loop.
func closedSentence(c *analysis.Closed) string {
	most := analysis.ClosedPoint{}
	for _, p := range c.Points {
		if p.GoodputRPS > most.GoodputRPS {
			most = p
		}
	}
	s := fmt.Sprintf("at most %s/s get done, with %s", rate(most.GoodputRPS), plural(most.Callers, "caller"))
	if c.GammaRPS == nil {
		return s + "; " + c.Why
	}
	s += fmt.Sprintf("; by the Universal Scalability Law one caller alone gets %s/s, contention is %.3g and coherency %.3g, and the points are off it by %.1f%%",
		rate(*c.GammaRPS), *c.Sigma, *c.Kappa, 100**c.RMS)
	if c.PeakN != nil {
		s += fmt.Sprintf("; it peaks at %.0f callers with %s/s", *c.PeakN, rate(*c.PeakRPS))
	} else {
		s += "; it has no peak within what was tested"
	}
	return s + ". It is a second opinion: a load that does not wait is another matter"
}
