package verdict

import (
	"fmt"

	"knee/analysis"
)

// Judge returns one judged check for each of checks, in their order. A run that
// compares two builds is judged by what they are compared by, and not by checks.
//
// A check passes or fails when the result settles it. It is inconclusive when
// the result does not: its load was not reached or not honestly offered, the
// samples are too few for the quantile, the trials disagree, or the answer it
// is about is itself inconclusive. When the load was offered and nothing of
// what is asked about came back, there are "no samples", and that fails.
//
// An answer with an interval (knee, recovery, rejection.q) is judged by its
// point value, as a person reading the report would; Why then says when the
// limit lies within the interval, so that a change of the verdict from run to
// run explains itself.
func Judge(checks []Check, r *analysis.Result) []analysis.Check {
	if r.Gate != nil {
		return pairedChecks(r.Gate)
	}
	judged := make([]analysis.Check, 0, len(checks))
	for _, c := range checks {
		f := c.find(r)
		v, why := c.settle(f)
		judged = append(judged, analysis.Check{
			Name:    c.Name(),
			Want:    c.Want(),
			Got:     f.got(c),
			Verdict: v,
			Why:     why,
		})
	}
	return judged
}

// A finding is what a result says about a metric: a number in the unit of the
// check that lies between low and high, or a reason why there is none.
type finding struct {
	low, high float64
	unit      Unit   // of low and high
	verdict   string // Fail or Inconclusive when there is no number; "" otherwise
	why       string // why there is none, or why low and high differ
	note      string // what a reader should know whatever the verdict
	// Interval of a point value, low == high; both 0 when it has none.
	intervalLow, intervalHigh float64
}

func exactly(v float64, u Unit) finding { return finding{low: v, high: v, unit: u} }

// noSamples is the finding of a load that was offered and gave nothing.
func noSamples(why string) finding {
	if why != "" {
		why = ": " + why
	}
	return finding{verdict: Fail, why: "no samples" + why}
}

func unsettled(why string) finding { return finding{verdict: Inconclusive, why: why} }

// settle compares what was found with what is wanted.
func (c Check) settle(f finding) (verdict, why string) {
	if f.verdict != "" {
		return f.verdict, join(f.note, f.why)
	}
	limit := c.limit()
	low, high := c.holds(f.low, limit), c.holds(f.high, limit)
	if low != high || c.between(f, limit) {
		return Inconclusive, join(f.note, f.why)
	}
	why = f.note
	if f.intervalLow < limit && limit < f.intervalHigh {
		why = join(why, fmt.Sprintf("decided by the point value; the limit lies within its interval, %s to %s",
			show(f.intervalLow, f.unit), show(f.intervalHigh, f.unit)))
	}
	if low {
		return Pass, why
	}
	return Fail, why
}

// join puts a note before a reason; either may be empty.
func join(note, why string) string {
	if note == "" || why == "" {
		return note + why
	}
	return note + ": " + why
}

// between reports whether an == or != depends on where between low and high
// the number lies.
func (c Check) between(f finding, limit float64) bool {
	return (c.Op == "==" || c.Op == "!=") && f.low < limit && limit < f.high
}

// limit returns the value of the check in the unit of a finding: percentages
// become shares.
func (c Check) limit() float64 {
	if c.Value.Unit == Percent {
		return c.Value.Number / 100
	}
	return c.Value.Number
}

func (c Check) holds(got, limit float64) bool {
	switch c.Op {
	case ">=":
		return got >= limit
	case "<=":
		return got <= limit
	case ">":
		return got > limit
	case "<":
		return got < limit
	case "==":
		return got == limit
	}
	return got != limit
}

// got returns the number found, for a reader.
func (f finding) got(c Check) string {
	switch {
	case f.verdict != "":
		return "-"
	case f.low == f.high:
		shown := show(f.low, f.unit)
		if f.low != c.limit() && shown == show(c.limit(), f.unit) {
			return Value{f.low, f.unit}.ofShare().String() // rounding must not hide why
		}
		return shown
	case f.high == infinite:
		return "at least " + show(f.low, f.unit)
	case f.low == 0 && (c.Metric == "plateau" || c.Metric == "knee"):
		return "at most " + show(f.high, f.unit)
	}
	return show(f.low, f.unit) + " to " + show(f.high, f.unit)
}
