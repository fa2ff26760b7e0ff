package analysis

import (
	"fmt"
	"math"
	"slices"

	"knee/analysis/paired"
	"knee/analysis/recovery"
	"knee/generator/record"
)

// Probe is the name of the steps by which two builds are compared.
const Probe = "probe"

// Pair is what is known of a run that compares a candidate with a baseline.
type Pair struct {
	Baseline  string         `json:"baseline"`  // what it is, for people
	Candidate string         `json:"candidate"` // likewise
	KneeRPS   float64        `json:"knee_rps"`  // of the baseline: the loads are multiples of it
	Most      int            `json:"most"`      // blocks
	PerBuild  int            `json:"per_build"` // trials that a build has in a block
	Trials    []PairTrial    `json:"trials"`
	Voids     map[int]string `json:"voids"` // blocks that do not count, and why; decided by the machine alone
}

// PairTrial is a trial of one of two builds.
type PairTrial struct {
	Trial     int  `json:"trial"`
	Block     int  `json:"block"`
	Candidate bool `json:"candidate"`
}

// Gate says whether a candidate is worse than a baseline.
type Gate struct {
	Baseline  string       `json:"baseline"`
	Candidate string       `json:"candidate"`
	KneeRPS   float64      `json:"knee_rps"` // of the baseline: the loads are multiples of it
	Blocks    int          `json:"blocks"`   // in each of which both builds ran
	Void      []string     `json:"void"`     // why those that do not count do not
	Metrics   []GateMetric `json:"metrics"`
}

// GateMetric is what the blocks say of one metric.
type GateMetric struct {
	Name       string   `json:"name"`
	Unit       string   `json:"unit"`    // "" for a share
	Verdict    string   `json:"verdict"` // pass fail inconclusive not_tested
	Why        string   `json:"why"`
	Margin     float64  `json:"margin"`    // share of the baseline's value by which the candidate may be worse
	Floor      float64  `json:"floor"`     // a difference of so much, in the metric's unit, is none
	Baseline   *float64 `json:"baseline"`  // median
	Candidate  *float64 `json:"candidate"` // median
	Change     *float64 `json:"change"`    // median, as a share of the baseline's value
	ChangeLow  *float64 `json:"change_low"`
	ChangeHigh *float64 `json:"change_high"`
	Blocks     int      `json:"blocks"`       // that say something
	Worse      int      `json:"worse"`        // of these, in which the candidate was worse than allowed
	ForWorse   float64  `json:"for_worse"`    // evidence that it is: fails at 600
	ForNoWorse float64  `json:"for_no_worse"` // evidence that it is not: passes at 20
}

// Paired judges the blocks so far of a run that compares builds.
func Paired(series *record.Series, m Meta) *paired.Gate {
	g := paired.New(paired.Metrics, paired.Options{Most: m.Pair.Most})
	recorded := series.Steps()
	byTrial := map[int][]*record.Step{}
	for _, s := range recorded {
		byTrial[s.Info.Trial] = append(byTrial[s.Info.Trial], s)
	}
	builds := map[PairTrial][][]*record.Step{} // by block and build
	blocks := 0
	for _, t := range m.Pair.Trials {
		key := PairTrial{Block: t.Block, Candidate: t.Candidate}
		if steps := byTrial[t.Trial]; len(steps) > 0 {
			builds[key] = append(builds[key], steps)
		}
		blocks = max(blocks, t.Block+1)
	}
	for i := range blocks {
		base, candidate := builds[PairTrial{Block: i}], builds[PairTrial{Block: i, Candidate: true}]
		if len(base) < m.Pair.PerBuild || len(candidate) < m.Pair.PerBuild {
			continue // it was cut short
		}
		b := paired.Block{Void: m.Pair.Voids[i]}
		var limited [2]string
		b.Base, limited[0] = buildValues(base, series, m)
		b.Candidate, limited[1] = buildValues(candidate, series, m)
		for _, why := range limited {
			if b.Void == "" {
				b.Void = why
			}
		}
		g.Add(b)
	}
	return g
}

// buildValues returns the values of paired.Metrics for one run of a build, of which
// trials are the steps. limited says why a load was not really offered.
func buildValues(trials [][]*record.Step, series *record.Series, m Meta) (values []float64, limited string) {
	knee := m.Pair.KneeRPS
	none := math.NaN()
	goodput, top, least := none, none, none
	var past []Step
	back, stuck := none, none
	for _, steps := range trials {
		for _, s := range steps {
			if s.Info.Phase != Probe {
				continue
			}
			step := StepOf(s, series, m)
			if !step.Valid && limited == "" {
				limited = fmt.Sprintf("the load of %.4g/s: %s", step.IntendedRPS, step.Why)
			}
			good := Point(step).Goodput
			switch x := step.IntendedRPS / knee; {
			case x < 1:
				goodput = good
			default:
				past = append(past, step)
				if !(least <= good) {
					least = good
				}
				if x > 9.5 {
					top = good
				}
			}
		}
		if e, ok := Episode(steps, series, m, knee, 0); ok {
			switch e.After.Verdict {
			case recovery.Recovered:
				back, stuck = e.After.FromEnd.Seconds(), 0
			case recovery.Slow, recovery.NotRecovered:
				back, stuck = math.Inf(1), 1
			}
		}
	}
	return []float64{goodput, top, least, back, slopeOf(past), stuck}, limited
}

// slopeOf returns how much goodput each rejection costs from the lowest of the loads to
// the highest, at least 0; NaN when hardly anything more was rejected there.
func slopeOf(past []Step) float64 {
	if len(past) < 2 {
		return math.NaN()
	}
	byLoad := func(a, b Step) int {
		if a.IntendedRPS < b.IntendedRPS {
			return -1
		}
		return 1
	}
	low, high := slices.MinFunc(past, byLoad), slices.MaxFunc(past, byLoad)
	rejected := func(s Step) float64 { return float64(s.Counts.Rejected) / s.DurationS }
	more := rejected(high) - rejected(low)
	if more < (high.IntendedRPS-low.IntendedRPS)/2 {
		return math.NaN()
	}
	return max(0, (Point(low).Goodput-Point(high).Goodput)/more)
}

// gateOf returns what a run that compares builds says; nil when this is none.
func gateOf(series *record.Series, m Meta) *Gate {
	if m.Pair == nil {
		return nil
	}
	g := Paired(series, m)
	out := &Gate{Baseline: m.Pair.Baseline, Candidate: m.Pair.Candidate, KneeRPS: m.Pair.KneeRPS, Void: []string{}}
	n, void := g.Blocks()
	out.Blocks, out.Void = n, append(out.Void, void...)
	for _, o := range g.Outcomes() {
		out.Metrics = append(out.Metrics, GateMetric{
			Name: o.Metric.Name, Unit: o.Metric.Unit, Verdict: o.Verdict, Why: o.Why, Margin: o.Metric.Margin, Floor: o.Metric.Floor,
			Baseline: finite(o.Base), Candidate: finite(o.Candidate),
			Change: finite(o.Change), ChangeLow: finite(o.Low), ChangeHigh: finite(o.High),
			Blocks: o.Blocks, Worse: o.Worse, ForWorse: o.ForWorse, ForNoWorse: o.ForNoWorse,
		})
	}
	return out
}

// isPaired reports whether a trial is of two builds that are compared: it is no part
// of the answers about one server.
func (m Meta) isPaired(trial int) bool {
	return m.Pair != nil && slices.ContainsFunc(m.Pair.Trials, func(t PairTrial) bool { return t.Trial == trial })
}
