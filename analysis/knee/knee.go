// Package knee finds the offered load up to which nearly every request is
// answered in time.
//
// Left of the knee goodput is known: it is the baseline ratio times the load.
// So only the right side is fitted, with a line through the first loads past
// the bracket, and the knee is where that line meets the ray. Which loads are
// left of it is decided by the ratio of goodput to offered load alone, as in
// MLRsearch (draft-ietf-bmwg-mlrsearch-15): every load up to the knee keeps at
// least 1-Eps of the baseline.
package knee

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// The verdicts of a Result.
const (
	Found            = "found"
	NoKnee           = "no_knee"           // every load tested is good: the knee is above Low
	BelowRange       = "below_range"       // even the lowest loads are not good: the knee is below High
	NoGoodput        = "no_goodput"        // nothing succeeded at any load
	GeneratorLimited = "generator_limited" // no load was bad, and higher ones could not be offered
	Inversion        = "inversion"         // a load is bad, and a higher one good again: RPS is the first knee, Next the last
	Insufficient     = "insufficient"      // fewer than 3 loads
)

// The flags of a Result.
const (
	Soft     = "soft"      // goodput bends over instead of breaking: another Eps gives another knee
	TwoKnees = "two_knees" // goodput still rises well past the knee: see Saturation
	Censored = "censored"  // the knee is outside the loads tested
	Coarse   = "coarse"    // the bracket is wider than Options.Width
	WarmUp   = "warm_up"   // the lowest loads were worse than higher ones and were left out
	Noisy    = "noisy"     // single bad loads among good ones were read as noise
	Limited  = "limited"   // loads that the generator could not offer were left out
)

// Point is one trial, or one row of a curve measured by any tool. Rates may be
// in any unit of requests per time, the same for all points.
type Point struct {
	Offered  float64       // load offered; a point without a positive one is left out
	Goodput  float64       // of it, successes in time
	Intended float64       // load that was asked for; 0: the same as Offered
	P99      time.Duration // of successes; 0: unknown. It is carried along, not judged
	Sent     uint64        // requests behind Offered; 0: only the rates are known
	Good     uint64        // requests behind Goodput
	Growing  bool          // the backlog rose throughout: bad, whatever the goodput
	Limited  bool          // the generator could not offer the load: no claim rests on it
}

// Options say what nearly every and narrow mean. The zero value has the
// defaults.
type Options struct {
	Eps   float64 // share of the baseline that a good load may lose, in (0, 0.5]; default 0.05
	Width float64 // relative width of a bracket that is not coarse, > 0; default 0.05
	// Low and High are a good load and a bad one that trials of another kind have
	// certified: the knee is between them. 0: the points tell.
	Low, High float64
}

// withDefaults fills in what is zero or outside the legal range.
func (o Options) withDefaults() Options {
	if !(o.Eps > 0 && o.Eps <= 0.5) {
		o.Eps = 0.05
	}
	if !(o.Width > 0) {
		o.Width = 0.05
	}
	return o
}

// Result is the knee of a curve. Rates are in the units of the points; 0 is an
// answer that is absent.
type Result struct {
	Verdict    string
	RPS        float64 // the knee: goodput at the largest good load, over the baseline
	Low, High  float64 // an interval for it; only one of them when it is censored
	Saturation float64 // smallest load with at least 1-Eps of the most goodput, outliers aside
	Next       float64 // of an inversion: the knee after the last good load
	Baseline   float64 // ratio of goodput to load far below the knee
	Noise      float64 // relative scatter of goodput from load to load, as a standard deviation
	MaxTested  float64 // largest load that was honestly offered
	Flags      []string
	Why        string
}

// Find returns the knee of the curve through points. Their order does not
// matter; points of equal load are replicates and count with their medians.
func Find(points []Point, o Options) Result {
	o = o.withDefaults()
	c := newCurve(points, o)
	r := Result{Baseline: c.baseline, Noise: c.noise, MaxTested: c.maxTested()}
	if c.limited {
		r.Flags = append(r.Flags, Limited)
	}
	switch {
	case len(c.levels) == 0 && c.limited:
		r.Verdict, r.Why = GeneratorLimited, "the generator could offer none of the loads"
		return r
	case len(c.levels) < 3 && c.limited && c.allGood():
		r.Verdict, r.Low = GeneratorLimited, r.MaxTested
		r.Why = fmt.Sprintf("the generator could not offer more than %.6g", r.MaxTested)
		return r
	case len(c.levels) < 3:
		r.Verdict = Insufficient
		r.Why = fmt.Sprintf("a knee needs at least 3 loads, and there are %d", len(c.levels))
		r.Low, r.High = c.hint()
		return r
	case c.top() == 0:
		r.Verdict, r.Why = NoGoodput, "nothing succeeded at any load"
		return r
	case c.baseline < 0.9:
		r.Verdict, r.High = BelowRange, c.levels[0].load
		r.Flags = append(r.Flags, Censored)
		r.Why = fmt.Sprintf("even at %.6g only %.1f %% succeeds", r.High, 100*c.levels[0].ratio)
		return r
	}
	if c.warm > 0 {
		r.Flags = append(r.Flags, WarmUp)
	}
	b, noisy := c.first()
	if noisy {
		r.Flags = append(r.Flags, Noisy)
	}
	if b.high < 0 {
		return c.censored(r)
	}
	return c.locate(r, b)
}

// censored is the result when no load is bad.
func (c *curve) censored(r Result) Result {
	r.Low = r.MaxTested
	r.Saturation = c.saturation(r.MaxTested)
	r.Flags = append(r.Flags, Censored)
	if c.limited {
		r.Verdict = GeneratorLimited
		r.Why = fmt.Sprintf("every load up to %.6g is good, and the generator could not offer more", r.MaxTested)
	} else {
		r.Verdict = NoKnee
		r.Why = fmt.Sprintf("every load up to %.6g is good", r.MaxTested)
	}
	return r
}

// locate is the result when the knee is in bracket b.
func (c *curve) locate(r Result, b bracket) Result {
	l, u := c.levels[b.low], c.levels[b.high]
	v := c.value(b)
	if v.knee < least { // a good load without goodput: only made-up points do that
		r.Verdict, r.Why = Insufficient, fmt.Sprintf("the loads contradict each other: nothing came of %.6g, which is good beside the others", l.load)
		return r
	}
	r.Verdict, r.RPS = Found, v.knee
	r.Saturation = c.saturation(v.knee)
	r.Low, r.High = min(v.floor, v.knee), u.load
	if c.opt.Low > 0 && c.opt.High > c.opt.Low {
		// The load that keeps 1-Eps is between these; the knee is its goodput, or less.
		r.Low, r.High = (1-c.opt.Eps)*c.opt.Low, c.opt.High
		// Many trials at either end say more than the few that found it.
		middle := (1 - c.opt.Eps) * math.Sqrt(c.opt.Low*c.opt.High)
		r.RPS = min(max(v.knee, middle), r.High)
	}
	r.Why = fmt.Sprintf("%.6g is good (%.1f %%), %.6g is not (%.1f %%)", l.load, 100*l.ratio, u.load, 100*u.ratio)
	if u.growing {
		r.Why += ", where the backlog grew"
	}
	if u.load > l.load*(1+c.opt.Width)*(1+1e-9) {
		r.Flags = append(r.Flags, Coarse)
	}
	last := c.last()
	switch {
	case last.low > b.high && c.levels[last.low].load > c.near(u.load):
		r.Verdict = Inversion
		top := c.levels[last.low].load
		r.Why += fmt.Sprintf(", and %.6g is good again", top)
		if last.high >= 0 {
			r.Next = c.value(last).knee
		}
	case v.soft:
		r.Flags = append(r.Flags, Soft)
	case r.Saturation > max(1.3*r.RPS, u.load) && slices.Max(c.running()) > 1.15*c.baseline*r.RPS:
		r.Flags = append(r.Flags, TwoKnees)
	}
	return r
}
