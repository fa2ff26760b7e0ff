package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"knee/analysis"
)

// find returns what r says about the metric of c.
func (c Check) find(r *analysis.Result) finding {
	switch {
	case c.Metric == "plateau":
		return c.plateau(r)
	case c.Metric == "knee":
		return c.knee(r)
	case c.Metric == "recovery":
		return recovery(r.Recovery)
	case c.Metric == "rejection.q":
		return c.rejection(r.Rejection)
	case c.Metric == "goodput":
		return c.goodput(r)
	case slices.Contains(counts, c.Metric):
		return c.count(r)
	}
	population, quantile, _ := strings.Cut(c.Metric, ".")
	return c.latency(r, population, quantile)
}

// plateauTo is how many times the knee must have been offered before goodput
// can be said to hold to ten times the knee.
const plateauTo = 9.8

// plateau finds the least retention past the knee, or that at a load. A load
// that nobody offered can only make it less.
func (c Check) plateau(r *analysis.Result) finding {
	p := r.Plateau
	reason := because(p.Verdict, p.Why)
	if p.Verdict == "no_goodput" {
		return noSamples(reason)
	}
	if !slices.Contains([]string{"plateau", "decline", "collapse", "range_short", "generator_limited"}, p.Verdict) {
		return unsettled("plateau is " + reason)
	}
	if c.At != (Value{}) {
		return c.retentionAt(r)
	}
	if p.MinRetention == nil {
		return unsettled("plateau is " + reason)
	}
	f := exactly(*p.MinRetention, c.shareUnit())
	if tested := valueOr(p.TestedToX, 0); tested < plateauTo {
		f.low = 0
		f.why = fmt.Sprintf("tested to %s of the knee only, not to 10x", show(tested, X))
	}
	return f
}

func (c Check) retentionAt(r *analysis.Result) finding {
	x := c.At.Number
	if c.At.Unit == Rate {
		if r.Knee.RPS == nil || *r.Knee.RPS <= 0 {
			return unsettled("no knee was found")
		}
		x /= *r.Knee.RPS
	}
	least := infinite
	for _, at := range r.Plateau.Retention {
		if near(at.X, x) {
			least = min(least, at.Retention)
		}
	}
	if least == infinite {
		return unsettled(fmt.Sprintf("no load within 3%% of %s of the knee was offered", show(x, X)))
	}
	return exactly(least, c.shareUnit())
}

// shareUnit is the unit of a share: that in which the check was written.
func (c Check) shareUnit() Unit {
	if c.Value.Unit == Percent {
		return Percent
	}
	return NoUnit
}

// knee finds the knee of all, or of one class. A knee outside the range that
// was offered still has a bound.
func (c Check) knee(r *analysis.Result) finding {
	k := r.Knee
	if c.Class != "" {
		var ok bool
		if k, ok = r.Knee.ByClass[c.Class]; !ok {
			return unsettled("there is no knee of class " + c.Class)
		}
	}
	perUnit := 1.0
	if c.Value.Unit == X {
		if r.Capacity.RPS == nil || *r.Capacity.RPS <= 0 {
			return unsettled("the capacity that x is a multiple of is not known")
		}
		perUnit = *r.Capacity.RPS
	}
	reason := because(k.Verdict, k.Why)
	switch k.Verdict {
	case "found":
		if k.RPS == nil {
			return unsettled("knee is " + reason)
		}
		f := exactly(*k.RPS/perUnit, c.Value.Unit)
		f.intervalLow = valueOr(k.LowRPS, *k.RPS) / perUnit
		f.intervalHigh = valueOr(k.HighRPS, *k.RPS) / perUnit
		return f
	case "no_knee":
		_, highest := offered(r)
		return finding{low: valueOr(k.LowRPS, highest) / perUnit, high: infinite, unit: c.Value.Unit, why: "knee is " + reason}
	case "below_range":
		lowest, _ := offered(r)
		return finding{high: valueOr(k.HighRPS, lowest) / perUnit, unit: c.Value.Unit, why: "knee is " + reason}
	case "no_goodput":
		return noSamples(reason)
	}
	return unsettled("knee is " + reason)
}

// offered returns the lowest and the highest load that was honestly offered.
func offered(r *analysis.Result) (lowest, highest float64) {
	lowest = infinite
	for _, s := range r.Steps {
		if s.Valid && s.OfferedRPS > 0 {
			lowest, highest = min(lowest, s.OfferedRPS), max(highest, s.OfferedRPS)
		}
	}
	return lowest, highest
}

func recovery(v analysis.Recovery) finding {
	reason := because(v.Verdict, v.Why)
	seconds := float64(time.Second)
	switch {
	case v.Verdict == "recovered" && v.MedianS != nil:
		f := exactly(*v.MedianS*seconds, Duration)
		f.intervalLow = valueOr(v.LowS, *v.MedianS) * seconds
		f.intervalHigh = valueOr(v.HighS, *v.MedianS) * seconds
		return f
	case v.Verdict == "slow" && v.ProjectionS != nil:
		f := exactly(*v.ProjectionS*seconds, Duration)
		f.note = "still draining when the run ended; projected"
		return f
	case v.Verdict == "not_recovered":
		f := exactly(infinite, Duration)
		f.note = reason
		return f
	}
	return unsettled("recovery is " + reason)
}

func (c Check) rejection(v analysis.Rejection) finding {
	if v.Verdict != "measured" || v.Q == nil {
		return unsettled("the cost of a rejection is " + because(v.Verdict, v.Why))
	}
	f := exactly(*v.Q, c.shareUnit())
	f.intervalLow, f.intervalHigh = valueOr(v.QLow, *v.Q), valueOr(v.QHigh, *v.Q)
	return f
}

// because joins a verdict and its reason.
func because(verdict, why string) string {
	if verdict == "" {
		verdict = "not answered"
	}
	return join(verdict, why)
}

func valueOr(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}

// tolerance is how far a load may be from the one that a check names.
const tolerance = 0.03

// near reports whether a load is the one wanted; the tiny extra keeps 1.03 and
// 0.97 within 3%.
func near(got, want float64) bool {
	return math.Abs(got-want) <= want*tolerance*(1+1e-9)
}
