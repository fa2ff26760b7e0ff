package verdict

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"knee/analysis"
)

// A Guard is a condition on which a run is stopped:
//
//	abort when METRIC OP VALUE for DURATION
//
// METRIC is goodput, as a rate or a multiple of capacity; good, late, rejected, timeout,
// failed or unsent, as a percentage of the originals that ended or as a rate;
// in_flight, as a number; or good.p99, as a duration. OP is as in a Check.
//
// DURATION is a multiple of 200 ms up to ten minutes. The condition is met when what
// happened in all of the last DURATION, taken together, meets it, and that much of the
// load is over; of good.p99, when each whole second of it does, and of in_flight each
// window of 200 ms.
type Guard struct {
	Metric string
	Op     string
	Value  Value
	For    time.Duration
}

// GuardEvery is the window of a guard.
const GuardEvery = 200 * time.Millisecond

// mostGuard is the longest duration of a guard.
const mostGuard = 10 * time.Minute

const guardForm = "abort when METRIC OP VALUE for DURATION, such as abort when goodput < 0.2x for 5s"

// guardKinds are the metrics of guards.
var guardKinds = map[string]kind{
	"goodput":   {units: []Unit{Rate, X, NoUnit}, want: "a rate such as 100/s, or a multiple of capacity such as 0.2x"},
	"in_flight": {units: []Unit{NoUnit}, want: "a number such as 500"},
	"good.p99":  {units: []Unit{Duration}, want: "a duration with a unit such as 80ms"},
}

// guardShares are those that are a share of what ended.
var guardShares = []string{"good", "late", "rejected", "timeout", "failed", "unsent"}

func init() {
	for _, name := range guardShares {
		guardKinds[name] = kind{units: []Unit{Percent, Rate}, want: "a percentage of the originals that ended such as 50%, or a rate such as 100/s"}
	}
}

var guardMetrics = "goodput, " + strings.Join(guardShares, ", ") + ", in_flight or good.p99"

var (
	abortRE = regexp.MustCompile(`^abort\s+when\b`)
	forRE   = regexp.MustCompile(`^for\b`)
)

// ParseGuard reads a guard; see Guard for the grammar. Its error is a *SyntaxError.
func ParseGuard(text string) (Guard, error) {
	s := scanner{text: text}
	return s.guard()
}

func (s *scanner) guard() (g Guard, err error) {
	s.space()
	if s.take(abortRE) == "" {
		return g, s.wrong(s.at, s.found(), guardForm)
	}
	s.space()
	start := s.at
	g.Metric = s.take(metricRE)
	k, ok := guardKinds[g.Metric]
	if !ok {
		return g, s.wrong(start, fmt.Sprintf("unknown metric %q", g.Metric), guardMetrics)
	}
	s.space()
	if g.Op = s.take(opRE); g.Op == "" {
		return g, s.wrong(s.at, s.found(), "one of >=, <=, >, <, ==, !=")
	}
	s.space()
	start = s.at
	word := s.take(wordRE)
	if g.Value, ok = value(word); !ok || !slices.Contains(k.units, g.Value.Unit) {
		return g, s.wrong(start, notA(word, g.Metric, "compared with"), k.want)
	}
	if g.Value.Unit == NoUnit && slices.Contains(k.units, Rate) {
		g.Value.Unit = Rate
	}
	s.space()
	if s.take(forRE) == "" {
		return g, s.wrong(s.at, s.found(), "for DURATION, such as for 5s")
	}
	s.space()
	start = s.at
	word = s.take(wordRE)
	d, ok := value(word)
	g.For = time.Duration(d.Number)
	if !ok || d.Unit != Duration || g.For <= 0 || g.For%GuardEvery != 0 || g.For > mostGuard {
		return g, s.wrong(start, fmt.Sprintf("unexpected %q", word), "a multiple of 200ms up to 10m, such as 5s")
	}
	if s.space(); s.rest() != "" {
		return g, s.wrong(s.at, s.found(), "the end")
	}
	return g, nil
}

// String returns the guard in its canonical form. ParseGuard reads it back.
func (g Guard) String() string {
	return fmt.Sprintf("abort when %s %s %s for %v", g.Metric, g.Op, g.Value, g.For)
}

// MarshalText writes what UnmarshalText reads.
func (g Guard) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what ParseGuard reads.
func (g *Guard) UnmarshalText(text []byte) (err error) {
	*g, err = ParseGuard(string(text))
	return err
}

// Lately is what happened in the last windows of a load, as many as a guard asks for.
type Lately struct {
	Windows  []analysis.Counts // of GuardEvery each, by what happened in them
	InFlight []int             // as each ended
	P99      []time.Duration   // of the whole seconds in them, of good answers; 0 where there was none
	Capacity float64           // requests per second; 0 when it is not known
}

// Met reports whether the condition of g is met, and what was found. It is not when too
// little has happened to tell.
func (g Guard) Met(l Lately) (met bool, found Value) {
	if len(l.Windows) < int(g.For/GuardEvery) {
		return false, Value{}
	}
	c := Check{Op: g.Op}
	limit := g.Value.Number
	switch g.Metric {
	case "in_flight":
		met = all(l.InFlight, func(n int) bool {
			found = Value{float64(n), NoUnit}
			return c.holds(found.Number, limit)
		})
		return met, found
	case "good.p99":
		met = all(l.P99, func(d time.Duration) bool {
			found = Value{float64(d), Duration}
			return d > 0 && c.holds(found.Number, limit)
		})
		return met, found
	}
	var sum analysis.Counts
	for _, w := range l.Windows {
		sum.Add(w)
	}
	seconds := g.For.Seconds()
	n := g.count(sum)
	switch g.Value.Unit {
	case X:
		if l.Capacity <= 0 || sum.Planned == 0 {
			return false, Value{}
		}
		found = Value{n / seconds / l.Capacity, X}
	case Rate:
		if sum.Planned == 0 {
			return false, Value{}
		}
		found = Value{n / seconds, Rate}
	default:
		ended := sum.Good + sum.Late + sum.Rejected + sum.Timeout + sum.Failed + sum.Withheld + sum.Unsent + sum.Unfinished
		if ended == 0 {
			return false, Value{}
		}
		found = Value{100 * n / float64(ended), Percent}
	}
	return c.holds(found.Number, limit), found
}

// count returns the number that the metric of g is about.
func (g Guard) count(c analysis.Counts) float64 {
	switch g.Metric {
	case "goodput", "good":
		return float64(c.Good)
	case "late":
		return float64(c.Late)
	case "rejected":
		return float64(c.Rejected)
	case "timeout":
		return float64(c.Timeout)
	case "failed":
		return float64(c.Failed)
	}
	return float64(c.Unsent)
}

// all reports whether there are some and each of them is.
func all[T any](of []T, is func(T) bool) bool {
	for _, v := range of {
		if !is(v) {
			return false
		}
	}
	return len(of) > 0
}
