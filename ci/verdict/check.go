package verdict

import (
	"strconv"
	"strings"
	"time"
)

// A Check is one condition on the result of a run:
//
//	METRIC[{class=NAME}] OP VALUE [at LOAD] [in PHASE]
//
// METRIC is one of
//
//   - plateau: the least share of the reference goodput that is left at any
//     load past the knee, or at LOAD (x is a multiple of the knee here)
//   - knee: the load up to which nearly every request is answered in time, as
//     a rate or as a multiple of capacity
//   - recovery: how long after a spike goodput was back
//   - rejection.q: what a rejection costs as a share of what a success costs
//   - goodput: good originals per second, as a rate or a multiple of capacity
//   - a count of originals: planned, unsent, withheld, sent, good, degraded,
//     late, rejected, timeout, failed, unfinished; or attempts. A percentage
//     is of planned, so that attempts <= 110% bounds what retries add.
//   - POPULATION.QUANTILE: a latency; good and late count from the planned
//     instant, rejected from the sent one, lag is sent minus planned.
//     QUANTILE is p50, p90, p99, p999 (also p99.9) or max.
//
// OP is >=, <=, >, <, == or !=. LOAD is a multiple of capacity such as 2x, or
// a rate such as 1800/s. PHASE is the name that the profile gives to phases of
// its load, or a kind of them such as spike. With both, the loads within the
// phases count.
//
// With neither, a count is that of the whole run, and goodput and latencies must
// fit at every load that was offered. With a PHASE, counts and goodput are those
// of all its steps together, ramps too, and latencies must fit in all of them.
type Check struct {
	Metric string // as above; p99.9 is written p999
	Class  string // "" is all
	Op     string
	Value  Value
	At     Value  // Rate or X; the zero Value is no load
	In     string // a phase; "" is none
}

// A Unit is what a Value counts.
type Unit uint8

// The units of a Value.
const (
	NoUnit   Unit = iota // a plain number
	Percent              // Number hundredths
	Duration             // Number nanoseconds
	Rate                 // Number per second
	X                    // Number times capacity; in plateau, times the knee
)

// A Value is a number with its unit.
type Value struct {
	Number float64
	Unit   Unit
}

// String returns v as Parse reads it.
func (v Value) String() string {
	number := strconv.FormatFloat(v.Number, 'f', -1, 64)
	switch v.Unit {
	case Percent:
		return number + "%"
	case Duration:
		return time.Duration(v.Number).String()
	case Rate:
		return number + "/s"
	case X:
		return number + "x"
	}
	return number
}

// String returns the check in its canonical form. Parse reads it back.
func (c Check) String() string { return c.Name() + " " + c.Want() }

// Name returns what is measured, such as good.p99{class=checkout}.
func (c Check) Name() string {
	if c.Class == "" {
		return c.Metric
	}
	return c.Metric + "{class=" + c.Class + "}"
}

// Want returns what it must be, such as "<= 80ms at 2x".
func (c Check) Want() string {
	s := c.Op + " " + c.Value.String()
	if c.At != (Value{}) {
		s += " at " + c.At.String()
	}
	if c.In != "" {
		s += " in " + c.In
	}
	return s
}

// MarshalText writes what UnmarshalText reads.
func (c Check) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what Parse reads.
func (c *Check) UnmarshalText(text []byte) (err error) {
	*c, err = Parse(string(text))
	return err
}

// quantiles are the parts of a latency that a result keeps, with the number of
// samples without which the quantile has no finite upper bound at 95%:
// ln 0.05 / ln p.
var quantiles = map[string]int64{"p50": 5, "p90": 29, "p99": 299, "p999": 2995, "max": 1}

// counts are the names of analysis.Counts.
var counts = []string{
	"planned", "unsent", "withheld", "sent", "good", "degraded", "late",
	"rejected", "timeout", "failed", "unfinished", "attempts",
}

// populations are those whose latency a result keeps.
var populations = []string{"good", "rejected", "late", "lag"}

// kind says what may be asked of a metric.
type kind struct {
	units   []Unit
	want    string // the forms of a value, for messages
	at      string // the forms of a load; "" when it has none
	byClass bool
	byPhase bool
}

const anyLoad = "a load such as 2x or 1800/s"

var kinds = map[string]kind{
	"plateau":     {[]Unit{NoUnit, Percent}, "a share such as 0.9 or 90%", "a multiple of the knee such as 5x, or a rate such as 1800/s", false, false},
	"knee":        {[]Unit{Rate, X, NoUnit}, "a rate such as 1800/s, or a multiple of capacity such as 0.9x", "", true, false},
	"recovery":    {[]Unit{Duration}, "a duration with a unit such as 2s", "", false, false},
	"rejection.q": {[]Unit{NoUnit, Percent}, "a share such as 0.01 or 1%", "", false, false},
	"goodput":     {[]Unit{Rate, X, NoUnit}, "a rate such as 1800/s, or a multiple of capacity such as 0.9x", anyLoad, true, true},
}

func init() {
	for _, name := range counts {
		kinds[name] = kind{[]Unit{NoUnit, Percent}, "a number such as 0, or a percentage of planned such as 1%", anyLoad, true, true}
	}
	for _, population := range populations {
		for q := range quantiles {
			kinds[population+"."+q] = kind{[]Unit{Duration}, "a duration with a unit such as 80ms", anyLoad, population == "good", true}
		}
	}
}

// metrics lists the metrics for messages.
var metrics = "plateau, knee, recovery, rejection.q, goodput, " + strings.Join(counts, ", ") +
	", or one of " + strings.Join(populations, ", ") + " with .p50, .p90, .p99, .p999 or .max"
