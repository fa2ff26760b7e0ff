package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Beside says what finished runs differ in. Nothing here bounds false alarms: two runs
// of one server differ, too, by the hour at which they were made. What does is a gate
// that runs both by turns.
type Beside struct {
	Runs     []RunBeside    `json:"runs"`
	Settings []Setting      `json:"settings"` // that are not the same in all runs
	Answers  []AnswerBeside `json:"answers"`
}

// RunBeside is one of the runs that are compared.
type RunBeside struct {
	Name      string  `json:"name"` // of its folder
	Command   string  `json:"command"`
	StartedAt *string `json:"started_at"`
	Clock     string  `json:"clock"`
	Verdict   string  `json:"verdict"`
}

// Setting is something that was set otherwise: a field of the profile, or what the runs
// were made with. A value is "" where there is none.
type Setting struct {
	Path   string   `json:"path"`
	Values []string `json:"values"` // for each run
}

// AnswerBeside is one answer of each run.
type AnswerBeside struct {
	Answer string        `json:"answer"`
	Unit   string        `json:"unit"` // "" for a share
	Values []ValueBeside `json:"values"`
}

// ValueBeside is an answer, and how it compares to that of the first run.
type ValueBeside struct {
	Text       string   `json:"text"` // the verdict, where there is no value
	Value      *float64 `json:"value"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Change     *float64 `json:"change"`     // as a share of the first run's value
	Difference string   `json:"difference"` // higher lower other none_seen cannot_tell; "" for the first run
}

// The differences to the first run.
const (
	Higher   = "higher"      // its interval lies above the first run's
	Lower    = "lower"       // its interval lies below
	Other    = "other"       // it says something else
	NoneSeen = "none_seen"   // the intervals overlap, or both say the same
	NoWord   = "cannot_tell" // one of the runs has no answer
)

// Compare says what runs differ in. names are those of their folders.
func Compare(names []string, runs []*Result) *Beside {
	b := &Beside{Settings: settings(runs), Answers: []AnswerBeside{}}
	for i, r := range runs {
		b.Runs = append(b.Runs, RunBeside{Name: names[i], Command: r.Run.Command, StartedAt: r.Run.StartedAt, Clock: r.Run.Clock, Verdict: r.Verdict})
	}
	for _, of := range answersBeside {
		a := AnswerBeside{Answer: of.name, Unit: of.unit}
		said := false
		for i, r := range runs {
			v := of.value(r)
			said = said || v.Value != nil || v.Text != notTested && v.Text != ""
			if i > 0 {
				v.against(a.Values[0])
			}
			a.Values = append(a.Values, v)
		}
		if said {
			b.Answers = append(b.Answers, a)
		}
	}
	return b
}

// against says how v differs from the first run's answer.
func (v *ValueBeside) against(first ValueBeside) {
	switch {
	case v.Value == nil && first.Value == nil && v.Text == first.Text && v.Text != notTested:
		v.Difference = NoneSeen
	case v.Text == notTested || first.Text == notTested || v.Text == "" || first.Text == "":
		v.Difference = NoWord
	case v.Value == nil || first.Value == nil:
		v.Difference = Other
	case *v.Low > *first.High:
		v.Difference = Higher
	case *v.High < *first.Low:
		v.Difference = Lower
	default:
		v.Difference = NoneSeen
	}
	if v.Value != nil && first.Value != nil && *first.Value != 0 {
		v.Change = some(*v.Value / *first.Value - 1)
	}
}

// measure is an answer with its interval. Without an interval there is no value: that
// of a single trial is known to nobody.
func measure(text string, value, low, high *float64) ValueBeside {
	if value == nil || low == nil || high == nil {
		return ValueBeside{Text: text}
	}
	return ValueBeside{Text: text, Value: value, Low: low, High: high}
}

// retentionMargin is by how much the retention of one server differs from run to run:
// the margin by which the plateau is judged.
const retentionMargin = 0.05

// answersBeside are what runs are compared by.
var answersBeside = []struct {
	name, unit string
	value      func(*Result) ValueBeside
}{
	{"knee", "/s", func(r *Result) ValueBeside { return measure(r.Knee.Verdict, r.Knee.RPS, r.Knee.LowRPS, r.Knee.HighRPS) }},
	{"plateau", "", func(r *Result) ValueBeside {
		p := r.Plateau
		if p.MinRetention == nil {
			return ValueBeside{Text: p.Verdict}
		}
		return measure(p.Verdict, p.MinRetention, some(*p.MinRetention-retentionMargin), some(*p.MinRetention+retentionMargin))
	}},
	{"goodput at 10x", "/s", func(r *Result) ValueBeside { return goodputAt(r, 10) }},
	{"goodput at 2x", "/s", func(r *Result) ValueBeside { return goodputAt(r, 2) }},
	{"p99 below the knee", "ms", tailBelow},
	{"recovery", "s", func(r *Result) ValueBeside {
		return measure(r.Recovery.Verdict, r.Recovery.MedianS, r.Recovery.LowS, r.Recovery.HighS)
	}},
	{"metastability", "", func(r *Result) ValueBeside { return ValueBeside{Text: r.Metastability.Verdict} }},
	{"stable threshold", "/s", func(r *Result) ValueBeside {
		m := r.Metastability
		if m.StableThresholdRPS == nil {
			return ValueBeside{Text: notTested}
		}
		return measure("found", m.StableThresholdRPS, m.StableThresholdRPS, m.UnstableRPS)
	}},
	{"rejection cost", "", func(r *Result) ValueBeside {
		return measure(r.Rejection.Verdict, r.Rejection.Q, r.Rejection.QLow, r.Rejection.QHigh)
	}},
}

// near reports whether a load is within a fifth of x times the knee: searches of one
// server do not offer the same loads.
func (r *Result) near(s Step, x float64) bool {
	return r.Knee.RPS != nil && *r.Knee.RPS > 0 && math.Abs(s.IntendedRPS/(*r.Knee.RPS*x)-1) < 0.2
}

// goodputAt returns the mean goodput of the trials near x times the knee. Its interval of
// about 95% is of chance within the trials, or of what they differ by where that is
// more.
func goodputAt(r *Result, x float64) ValueBeside {
	var goods []float64
	good, seconds := 0.0, 0.0
	for _, s := range r.Steps {
		if !s.Valid || s.SetAside || !r.near(s, x) || s.DurationS == 0 || s.Phase == Settle || s.Phase == Spike {
			continue
		}
		goods = append(goods, s.GoodputRPS)
		good, seconds = good+float64(s.Counts.Good), seconds+s.DurationS
	}
	if len(goods) == 0 {
		return ValueBeside{Text: notTested}
	}
	mean := good / seconds
	squares := 0.0
	for _, g := range goods {
		squares += (g - mean) * (g - mean)
	}
	off := math.Sqrt(max(good, 1)) / seconds
	if n := float64(len(goods)); n > 1 {
		off = max(off, math.Sqrt(squares/(n-1)/n))
	}
	const wide = 2.5 // standard errors: there are few trials
	return measure("measured", some(mean), some(max(0, mean-wide*off)), some(mean+wide*off))
}

// tailBelow returns the p99 of successes at loads of half the knee up to it, from the
// least to the greatest of the trials.
func tailBelow(r *Result) ValueBeside {
	var tails []float64
	for _, s := range r.Steps {
		if r.Knee.RPS == nil || !s.Valid || s.SetAside || s.Phase == Settle || s.ResponseMS.P99 == nil {
			continue
		}
		if x := s.IntendedRPS / *r.Knee.RPS; x >= 0.5 && x <= 1 {
			tails = append(tails, *s.ResponseMS.P99)
		}
	}
	if len(tails) < 2 {
		return ValueBeside{Text: notTested}
	}
	slices.Sort(tails)
	return measure("measured", some(tails[len(tails)/2]), some(tails[0]), some(tails[len(tails)-1]))
}

// settings returns what was not the same in all runs, the profile's fields by their
// paths.
func settings(runs []*Result) []Setting {
	all := []Setting{}
	byRun := make([]map[string]string, len(runs))
	paths := map[string]bool{}
	for i, r := range runs {
		byRun[i] = map[string]string{
			"clock": r.Run.Clock, "seed": fmt.Sprint(r.Run.Seed), "version of knee": r.Run.Version,
			"machine": fmt.Sprintf("%s %s, %d CPUs", r.Machine.OS, r.Machine.CPUModel, r.Machine.CPUs),
		}
		flatten(byRun[i], "", r.Profile)
		delete(byRun[i], "checks") // they change no answer
		for path := range byRun[i] {
			paths[path] = true
		}
	}
	for path := range paths {
		s := Setting{Path: path}
		same := true
		for _, values := range byRun {
			s.Values = append(s.Values, values[path])
			same = same && values[path] == byRun[0][path]
		}
		if !same {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Setting) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return all
}

// flatten puts the leaves of a document into out, by their paths.
func flatten(out map[string]string, path string, v any) {
	join := func(key string) string {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			flatten(out, join(key), value)
		}
	case []any:
		for i, value := range v {
			flatten(out, join(fmt.Sprint(i)), value)
		}
	default:
		text, err := json.Marshal(v)
		if err != nil || path == "" {
			return
		}
		out[path] = string(text)
	}
}
