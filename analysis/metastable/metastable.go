// Package metastable says whether a bad state outlives what triggered it, at the
// same load: a metastable failure (Bronson et al., HotOS 2021; Huang et al., OSDI
// 2022).
//
// One trigger proves little, for whether a server near the boundary is caught is
// left to chance. So several are judged together, and the share of them that was
// not recovered from has an interval.
package metastable

import (
	"fmt"
	"math"
	"time"

	"knee/analysis/recovery"
	"knee/analysis/stat"
)

// The verdicts of an Episode and of a Result, of which the first three and the last
// are as those of a recovery.
const (
	Recovered    = recovery.Recovered
	Slow         = recovery.Slow // not back yet, but on its way
	Inconclusive = recovery.Inconclusive
	Metastable   = "metastable" // not back at the load before the trigger, and healthy at it once the load had been away
	Damaged      = "damaged"    // not even then
)

// An Episode is one trigger and what followed it.
type Episode struct {
	After recovery.Result  // at the load of before
	Again *recovery.Result // at that load once more, after there was none for a while; nil: that was not tried
}

// Verdict returns what the episode says, and why.
func (e Episode) Verdict() (verdict, why string) {
	if e.After.Verdict != recovery.NotRecovered {
		return e.After.Verdict, e.After.Why
	}
	switch {
	case e.Again == nil:
		return Inconclusive, e.After.Why + "; whether it is once the load has been away was not tried"
	case e.Again.Verdict == recovery.Recovered:
		return Metastable, e.After.Why + "; once the load had been away, the same load was served well"
	case e.Again.Verdict == recovery.Inconclusive:
		return Inconclusive, e.After.Why + "; whether it is once the load has been away is open: " + e.Again.Why
	}
	return Damaged, e.After.Why + ", and not once the load had been away either"
}

// Result is what the episodes of one load and one trigger say together.
type Result struct {
	Verdict    string
	Projection time.Duration // when slow: the longest
	Stuck      int           // triggers that were not recovered from
	Triggers   int           // that say something
	Low, High  float64       // share of triggers that are not recovered from: 95% interval of Clopper and Pearson
	Why        string
}

// Judge puts episodes together. One in which the server stayed in the bad state is
// enough to show that it can. Those that say nothing are left out, unless
// they are at least half.
func Judge(episodes []Episode) Result {
	r := Result{Verdict: Inconclusive, Low: 0, High: 1}
	count := map[string]int{}
	why := map[string]string{}
	for _, e := range episodes {
		v, because := e.Verdict()
		count[v]++
		if why[v] == "" {
			why[v] = because
		}
		if v == Slow {
			r.Projection = max(r.Projection, e.After.Projection)
		}
	}
	r.Stuck = count[Metastable] + count[Damaged]
	r.Triggers = len(episodes) - count[Inconclusive]
	if r.Triggers > 0 {
		r.Low, r.High = stat.ClopperPearson(r.Stuck, r.Triggers, 0.95)
	}
	switch {
	case len(episodes) == 0:
		r.Why = "there was no trigger"
		return r
	case r.Stuck == 0 && 2*count[Inconclusive] >= len(episodes):
		r.Why = why[Inconclusive]
		return r
	case count[Metastable] > 0 && count[Metastable] >= count[Damaged]:
		r.Verdict = Metastable
	case count[Damaged] > 0:
		r.Verdict = Damaged
	case count[Slow] > 0:
		r.Verdict = Slow
	default:
		r.Verdict = Recovered
		r.Why = fmt.Sprintf("from %d of %d triggers, so that at most %.0f%% of such triggers keep it down, with 95%% confidence",
			r.Triggers, r.Triggers, math.Ceil(100*stat.AtMost(0, r.Triggers, 0.95)))
		return r
	}
	n := count[r.Verdict]
	r.Why = fmt.Sprintf("after %d of %d triggers: %s", n, r.Triggers, why[r.Verdict])
	return r
}

// Threshold returns between which of the base loads the stable threshold lies: the
// highest load from which the server comes back from all triggers, however slowly.
// low is the highest load of which that was seen and below which it was never
// otherwise, 0 when there is none; high the lowest at which a trigger was not
// recovered from, +Inf when there is none. Loads of which nothing is known say
// nothing.
func Threshold(byBase map[float64]Result) (low, high float64) {
	high = math.Inf(1)
	for base, r := range byBase {
		if r.Stuck > 0 {
			high = min(high, base)
		}
	}
	for base, r := range byBase {
		if base < high && (r.Verdict == Recovered || r.Verdict == Slow) {
			low = max(low, base)
		}
	}
	return low, high
}
