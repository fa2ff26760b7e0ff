// Package plateau says whether goodput holds past the knee.
package plateau

import (
	"fmt"
	"slices"

	"knee/analysis/knee"
)

// The verdicts of a Result. When there is no single knee, its verdict is
// passed on instead.
const (
	Plateau    = "plateau"     // at least 0.9 of the reference at every load, tested to 10 times the knee
	Decline    = "decline"     // some load keeps less than 0.9
	Collapse   = "collapse"    // some load keeps less than 0.5
	RangeShort = "range_short" // no decline seen, but not tested to 10 times the knee
	// No decline seen, and higher loads could not be offered.
	GeneratorLimited = knee.GeneratorLimited
)

// Limits of the verdicts: the retention of a plateau, of a collapse, and the
// multiple of the knee that a plateau must be tested to. The last is a little
// under 10, since the knee is known to a few percent only, and gives way by the
// noise of the curve, up to a tenth.
const (
	Holds     = 0.9
	Collapsed = 0.5
	Far       = 9.8
)

// Options are those of the knee.
type Options = knee.Options

// Result says how much goodput is left past the knee. 0 is an answer that is
// absent, except in retentions.
type Result struct {
	Verdict      string
	Judged       bool    // there is a knee, and a load past it: MinRetention is an answer
	MinRetention float64 // smallest of Retention past saturation
	Retention    []Retention
	TestedToX    float64 // largest load honestly offered, as a multiple of the knee
	CollapseRPS  float64 // smallest load that keeps less than half
	Why          string
}

// Retention is what a load keeps of the reference goodput.
type Retention struct {
	X         float64 // load as a multiple of the knee
	Retention float64
}

// Judge looks at the loads of points past the knee k, which is Find of the same
// points. The reference is the most goodput by the 3-point running median: a
// maximum would turn the noise of a plateau into a decline. Where goodput still
// rises past the knee (a soft shoulder, a second knee) a load is compared with
// the most up to it.
func Judge(points []knee.Point, k knee.Result, o Options) Result {
	switch k.Verdict {
	case knee.Found:
	case knee.Inversion:
		return Result{Verdict: k.Verdict, TestedToX: k.MaxTested / k.RPS, Why: k.Why}
	default:
		return Result{Verdict: k.Verdict, Why: k.Why}
	}
	r := Result{TestedToX: k.MaxTested / k.RPS}
	loads := knee.Loads(points, o)
	for _, l := range retained(loads, k, o) {
		r.Retention = append(r.Retention, Retention{X: l.load / k.RPS, Retention: l.judged})
		if !r.Judged || l.judged < r.MinRetention {
			r.Judged, r.MinRetention = true, l.judged
		}
		if l.judged < Collapsed && r.CollapseRPS == 0 {
			r.CollapseRPS = l.load
		}
	}
	switch {
	case !r.Judged:
		r.Verdict, r.Why = RangeShort, "no load past the knee was offered"
	case r.MinRetention < Collapsed:
		r.Verdict = Collapse
		r.Why = fmt.Sprintf("less than half is left at %.6g", r.CollapseRPS)
	case r.MinRetention < Holds:
		r.Verdict = Decline
		r.Why = fmt.Sprintf("%.0f %% is left where it is least", 100*r.MinRetention)
	case r.TestedToX < Far*(1-min(k.Noise, 0.1)):
		r.Verdict = RangeShort
		r.Why = fmt.Sprintf("it holds as far as it was tested, which is %.3g times the knee", r.TestedToX)
	default:
		r.Verdict = Plateau
		r.Why = fmt.Sprintf("at least %.0f %% is left at every load up to %.3g times the knee", 100*r.MinRetention, r.TestedToX)
	}
	if r.Verdict == RangeShort && limited(points, k) {
		r.Verdict, r.Why = GeneratorLimited, r.Why+": the generator could not offer more"
	}
	return r
}

// limited reports whether a load beyond all those that were offered was tried.
func limited(points []knee.Point, k knee.Result) bool {
	return slices.ContainsFunc(points, func(p knee.Point) bool {
		return p.Limited && max(p.Intended, p.Offered) > k.MaxTested
	})
}
