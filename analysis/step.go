package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"knee/analysis/stat"
	"knee/generator/record"
)

// Labels of the steps that knee itself adds around what it measures. A step
// labelled Settle lets the server reach the load's steady state, one labelled
// Drain lets it work off a backlog: neither is measured. Base, Spike and After
// are a spike with the same load before and after it; Hold goes on with that load,
// Idle takes it away and Again brings it back.
const (
	Settle = "settle"
	Drain  = "drain"
	Base   = "base"
	Spike  = "spike"
	After  = "after"
	Hold   = "held"
	Idle   = "idle"
	Again  = "again"
)

// Threshold is the name of the steps of a spike that is there to find the stable
// threshold. It counts for nothing else.
const Threshold = "threshold"

// What a step must keep to support a claim.
const (
	// maxUnsent is the share of the arrivals of a step that may go unsent.
	maxUnsent = 0.02
	// maxLate is the share of the arrivals of a step that may be late, or time out,
	// while the generator was starved.
	maxLate = 0.02
	// maxLag is the highest 99th percentile of the lag, as a share of the timeout.
	maxLag = 0.1
	// uneasyLag is the one from which the generator is suspect.
	uneasyLag = 0.05
)

// StepOf turns what was recorded of a step into its place in the result.
func StepOf(s *record.Step, series *record.Series, m Meta) Step {
	info := s.Info
	seconds := m.lasted(info).Seconds()
	step := Step{
		IntendedRPS:      info.Rate(),
		DurationS:        seconds,
		Phase:            info.Phase,
		Name:             info.Name,
		Counts:           s.Total.Counts,
		RejectedByReason: reasons(s.Total.RejectedBy),
		FailedByKind:     reasons(s.Total.FailedBy),
		UnsentByReason:   reasons(s.Total.UnsentBy),
		WithheldByReason: reasons(s.Total.WithheldBy),
		ByClass:          map[string]Class{},
		ResponseMS:       latency(s.Response),
		ServiceMS:        latency(s.Service),
		RejectMS:         latency(s.Reject),
		LateMS:           latency(s.Late),
		LagMS:            latency(s.Lag),
	}
	if m.Run.Clock == Virtual {
		step.LagMS = Latency{}
	}
	if m.CapacityRPS > 0 {
		step.LoadX = some(step.IntendedRPS / m.CapacityRPS)
	}
	if seconds > 0 {
		step.OfferedRPS = float64(s.Total.Sent+s.Total.Withheld) / seconds
		step.GoodputRPS = float64(s.Total.Good) / seconds
		step.ThroughputRPS = float64(s.Total.Good+s.Total.Late) / seconds
	}
	if info.Phase == ClosedLoop {
		// Nothing was intended but to have so many callers.
		step.IntendedRPS, step.LoadX = step.OfferedRPS, nil
	}
	for i, name := range series.Classes() {
		c := Class{Counts: s.ByClass[i].Counts, ResponseMS: latency(s.ClassResponse[i])}
		if seconds > 0 {
			c.GoodputRPS = float64(c.Counts.Good) / seconds
		}
		step.ByClass[name] = c
	}
	step.GoodDuring = s.Total.Good
	if end := info.Start + m.lasted(info); info.Start%record.Window == 0 && end%record.Window == 0 {
		step.GoodDuring = goodDuring(info.Start, end, series)
	}
	step.InFlightStart = openAt(info.Start, series)
	step.InFlightEnd = openAt(info.Start+m.lasted(info), series)
	step.SetAside = slices.Contains(m.SetAside, info.Trial)
	step.Growing = growing(s.Info, series)
	step.Generator = useOf(info.Start, info.Start+m.lasted(info), m)
	step.Why = fault(s, step, m)
	step.Valid = step.Why == ""
	return step
}

// lasted returns how long a step lasted: all of it, unless the run was stopped.
func (m Meta) lasted(info record.StepInfo) time.Duration {
	if !m.Stopped {
		return info.Duration
	}
	return min(info.Duration, max(0, m.end-info.Start))
}

// openAt returns how many requests are in flight at an instant at which a window
// begins.
func openAt(at time.Duration, series *record.Series) int {
	open := series.InFlight(at-record.Window, at)
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

// goodDuring returns how many good answers came between two instants at which
// windows begin.
func goodDuring(from, to time.Duration, series *record.Series) uint64 {
	var good uint64
	windows := series.ByEnding()
	for _, w := range windows[min(int(from/record.Window), len(windows)):min(int(to/record.Window), len(windows))] {
		good += w.Good
	}
	return good
}

// growing says whether the number of requests in flight rose all through a
// step of constant rate: the server did not keep up, whatever was answered.
func growing(info record.StepInfo, series *record.Series) bool {
	if info.From != info.To {
		return false
	}
	var inFlight []float64
	for _, n := range series.InFlight(info.Start, info.Start+info.Duration) {
		inFlight = append(inFlight, float64(n))
	}
	rising, _, _ := stat.Growing(inFlight, record.Window)
	return rising
}

// fault says why a step supports no claim about the server; "" when it does.
func fault(s *record.Step, step Step, m Meta) string {
	switch s.Info.Phase {
	case Settle, Drain, Idle:
		return "not measured: " + s.Info.Phase
	}
	t := s.Total
	switch {
	case t.Planned == 0:
		return "no arrivals"
	case t.Unfinished > 0:
		return fmt.Sprintf(cutWhy+": %d unfinished", t.Unfinished)
	case m.lasted(s.Info) < s.Info.Duration:
		return cutWhy + ": the run was stopped"
	case float64(t.Unsent) > maxUnsent*float64(t.Planned):
		return fmt.Sprintf(limitedWhy+": %.1f%% unsent (%s)", 100*float64(t.Unsent)/float64(t.Planned), most(t.UnsentBy))
	case m.Run.Clock == Wall && s.Lag.Count > 0 && s.Lag.P99 > time.Duration(maxLag*float64(m.patience())):
		return fmt.Sprintf(limitedWhy+lateWhy+" p99 %.1f ms, above a tenth of the timeout", ms(s.Lag.P99))
	case step.Generator != nil:
		u := step.Generator
		if share, of := u.taken(m); share >= fullUse {
			return limitedWhy + busyWhy + ", " + of
		}
		// Answers that came after the end of the step count as late here: see Point.
		late := float64(t.Late+t.Timeout+t.Good-min(t.Good, step.GoodDuring)) / float64(t.Planned)
		if late > maxLate && valueOf(u.WaitedShare) >= starved {
			return fmt.Sprintf(limitedWhy+starvedWhy+" for %.0f%% of the time, and %.1f%% of the answers were late or did not come in time", 100**u.WaitedShare, 100*late)
		}
	}
	return ""
}

// patience is the shortest time that anybody waits for an answer.
func (m Meta) patience() time.Duration { return cmp.Or(m.Patience, m.Timeout) }

// isCut says whether a step ended before its time.
func isCut(s Step) bool { return strings.HasPrefix(s.Why, cutWhy) }

// cutWhy begins Step.Why of a step that ended before its time.
const cutWhy = "cut short"

// isLimited says whether a step supports no claim because of the generator.
func isLimited(s Step) bool { return strings.HasPrefix(s.Why, limitedWhy) }

// Unpunctual says whether a step supports no claim because requests were sent
// late, or answers perhaps read late, though all requests were sent.
func (s Step) Unpunctual() bool {
	return slices.ContainsFunc([]string{lateWhy, busyWhy, starvedWhy}, func(how string) bool {
		return strings.HasPrefix(s.Why, limitedWhy+how)
	})
}

// limitedWhy begins Step.Why of a load that could not be offered, and what
// follows it says how that shows where everything was sent.
const (
	limitedWhy = "generator limited"
	lateWhy    = ": lag"
	busyWhy    = ": no CPU left"
	starvedWhy = ": it waited for a CPU"
)

// most returns the reason with the highest count.
func most(by map[string]uint64) string {
	best := ""
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		if best == "" || by[reason] > by[best] {
			best = reason
		}
	}
	return best
}

// reasons returns by, never nil, so that it is an object in JSON.
func reasons(by map[string]uint64) map[string]uint64 {
	if by == nil {
		return map[string]uint64{}
	}
	return by
}

// samplesFor is how many samples a quantile needs so that the sample above it
// bounds it with 95% confidence: ln .05 / ln q.
var samplesFor = struct{ p50, p90, p99, p999 int64 }{5, 29, 299, 2995}

// latency turns quantiles into milliseconds. One that there are too few samples
// for is absent: it would say no more than the maximum does.
func latency(q record.Quantiles) Latency {
	l := Latency{Count: q.Count}
	if q.Count == 0 {
		return l
	}
	set := func(to **float64, d time.Duration, need int64) {
		if q.Count >= need {
			*to = some(ms(d))
		}
	}
	set(&l.P50, q.P50, samplesFor.p50)
	set(&l.P90, q.P90, samplesFor.p90)
	set(&l.P99, q.P99, samplesFor.p99)
	set(&l.P999, q.P999, samplesFor.p999)
	set(&l.Max, q.Max, 1)
	return l
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func some[T any](v T) *T { return &v }
