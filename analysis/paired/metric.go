// Package paired judges a candidate against a baseline from blocks in which both ran.
package paired

import "math"

// A Metric is something by which builds are compared.
type Metric struct {
	Name   string
	Unit   string  // "" for a share
	Lower  bool    // less of it is better
	Margin float64 // share of the baseline's value by which the candidate may be worse
	Floor  float64 // a difference of so much, in the unit of the metric, is none
	// Vital: a candidate that has no value, where the baseline has one, is worse.
	Vital bool
}

// Metrics are what builds of a server are compared by.
//
// The order is that of a Block's values. Goodput is in requests per second, at
// multiples of the baseline's knee and not of a build's own, so that one that is
// slower throughout shows at each of them; recovery is in seconds, rejection.q a share
// of a success, and metastability 1 when goodput did not come back and 0 when it did.
var Metrics = []Metric{
	{Name: "goodput at 0.95x", Unit: "/s", Margin: 0.05, Vital: true},
	{Name: "goodput at 10x", Unit: "/s", Margin: 0.05, Vital: true},
	{Name: "least goodput", Unit: "/s", Margin: 0.05, Vital: true},
	{Name: "recovery", Unit: "s", Lower: true, Margin: 0.10, Floor: 0.2, Vital: true},
	{Name: "rejection.q", Lower: true, Margin: 0.10, Floor: 0.005},
	{Name: "metastability", Lower: true, Vital: true},
}

// known reports whether x is a value. Infinity is: of a recovery that did not come.
func known(x float64) bool { return !math.IsNaN(x) }

// compare says whether the candidate is worse by more than the margin; ok is false
// when a block with these values says nothing. Of two runs of one build, of which a
// coin says which is the baseline, the candidate is worse at most every other time,
// whatever the noise: for it to be worse it has to have the worse value.
func (m Metric) compare(base, candidate float64) (worse, ok bool) {
	switch {
	case !known(base):
		return false, known(candidate)
	case !known(candidate):
		return m.Vital, m.Vital
	case m.Lower:
		return candidate > base*(1+m.Margin) && candidate > base+m.Floor, true
	}
	return candidate < base*(1-m.Margin) && candidate < base-m.Floor, true
}

// change returns by which share of the baseline's value the candidate's differs, NaN
// when that cannot be said: of a value so small that a difference of it is none, too.
func (m Metric) change(base, candidate float64) float64 {
	if !known(base) || !known(candidate) || math.IsInf(base, 0) || math.IsInf(candidate, 0) || base <= m.Floor {
		return math.NaN()
	}
	return candidate/base - 1
}
