package report

import (
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"knee/analysis"
)

// Bench writes the result in the Go benchmark format, for benchstat: a line of the
// answers, Knee/profile=NAME, and one for each trial of each load,
// Load/profile=NAME/load=2x. benchstat wants six lines of a name or more for an
// interval: the trials of a load, or the answers of several runs in one file.
//
// The units are knee-rps, plateau-ratio, recovery-sec and rejection-ratio, and
// goodput-rps, good-ratio, p50-sec and p99-sec of good answers. What is not known is left out.
func Bench(w io.Writer, r *analysis.Result) error {
	out := benchfmt.NewWriter(w)
	profile := "/profile=" + benchName(profileName(r.Profile))
	res := benchfmt.Result{
		Name: benchfmt.Name("Knee" + profile), Iters: 1, Values: answersBench(r),
		Config: []benchfmt.Config{
			{Key: "goos", Value: []byte(r.Machine.OS), File: true},
			{Key: "goarch", Value: []byte(r.Machine.Arch), File: true},
			{Key: "cpu", Value: []byte(oneLine(r.Machine.CPUModel)), File: true},
			{Key: "clock", Value: []byte(r.Run.Clock), File: true},
			{Key: "seed", Value: []byte(strconv.FormatUint(r.Run.Seed, 10)), File: true},
		},
	}
	if len(res.Values) > 0 {
		if err := out.Write(&res); err != nil {
			return err
		}
	}
	for _, s := range r.Steps {
		if !s.Valid || s.SetAside || s.Counts.Planned == 0 || s.Phase == analysis.Settle || s.Phase == analysis.Drain {
			continue
		}
		at := rate(s.IntendedRPS) + "/s"
		if known(s.LoadX) {
			at = strconv.FormatFloat(*s.LoadX, 'f', 2, 64) + "x"
		}
		res.Name, res.Iters, res.Values = benchfmt.Name("Load"+profile+"/load="+benchName(at)), int(s.Counts.Planned), stepBench(s)
		if err := out.Write(&res); err != nil {
			return err
		}
	}
	return nil
}

// answersBench returns what the run found.
func answersBench(r *analysis.Result) []benchfmt.Value {
	var v values
	v.add("knee-rps", r.Knee.RPS)
	v.add("plateau-ratio", r.Plateau.MinRetention)
	v.add("recovery-sec", r.Recovery.MedianS)
	v.add("rejection-ratio", r.Rejection.Q)
	return v
}

// stepBench returns what came of one trial.
func stepBench(s analysis.Step) []benchfmt.Value {
	ratio := float64(s.Counts.Good) / float64(s.Counts.Planned)
	var v values
	v.add("goodput-rps", &s.GoodputRPS)
	v.add("good-ratio", &ratio)
	v.add("p50-sec", inSeconds(s.ResponseMS.P50))
	v.add("p99-sec", inSeconds(s.ResponseMS.P99))
	return v
}

// values are those of one line.
type values []benchfmt.Value

// add adds a value when it is known.
func (v *values) add(unit string, value *float64) {
	if known(value) {
		*v = append(*v, benchfmt.Value{Value: *value, Unit: unit})
	}
}

// inSeconds returns a number of milliseconds, if there is one, in seconds.
func inSeconds(ms *float64) *float64 {
	if !known(ms) {
		return nil
	}
	s := math.Round(*ms*1e6) / 1e9 // whole nanoseconds: no digits that stand for nothing
	return &s
}

// benchName makes s a part of a benchmark's name, which has no blanks, no slashes
// and does not look like a number of processors.
func benchName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == '/' || r == '=' || r == '-' {
			return '_'
		}
		return r
	}, s)
	if s == "" {
		return "none"
	}
	return s
}

// oneLine makes s a value of the format's configuration.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
