package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"knee/analysis"
)

// Text writes the report for a terminal: the loads as a table, the goodput curve
// and a sentence for each answer.
func Text(w io.Writer, r *analysis.Result, o Options) error {
	lines := []string{o.paint(bold, wrap(heading(r), o.width(), 2))}
	loads := loadsOf(r)
	if r.Closed != nil {
		lines = append(append(lines, ""), closedLoop(r.Closed, o)...)
	} else if len(loads) == 0 {
		lines = append(lines, "", "no load was measured")
	} else {
		lines = append(lines, "")
		lines = append(lines, table(loads, o)...)
	}
	if drawn := curve(loads, r.Knee, o); drawn != nil && r.Gate == nil {
		lines = append(lines, "")
		lines = append(lines, drawn...)
	}
	lines = append(lines, "")
	if layers := topology(r.Topology, originals(r), o); layers != nil {
		lines = append(append(lines, layers...), "")
	}
	lines = append(lines, hysteresis(r.Metastability.Loop, o)...)
	lines = append(lines, prices(r.Rejection, o)...)
	lines = append(lines, comparison(r.Gate, o)...)
	lines = append(lines, answers(r, loads, o)...)
	if r.Baseline != nil {
		lines = append(append(lines, ""), beside(r.Baseline, o)...)
	}
	lines = append(lines, ending(r, o)...)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// originals returns how many originals there were in the whole run.
func originals(r *analysis.Result) uint64 {
	var n uint64
	for _, s := range r.Steps {
		n += s.Counts.Planned
	}
	return n
}

// heading says what ran, and in which world.
func heading(r *analysis.Result) string {
	parts := []string{"knee"}
	if name := profileName(r.Profile); name != "" {
		parts[0] += " " + name
	}
	if r.Run.Clock != "" {
		parts = append(parts, r.Run.Clock+" clock")
	}
	parts = append(parts, fmt.Sprintf("seed %d", r.Run.Seed))
	if r.Run.DurationS > 0 && isFinite(r.Run.DurationS) {
		parts = append(parts, fixed(r.Run.DurationS, 1)+" s")
	}
	if known(r.Capacity.RPS) {
		capacity := "capacity " + rate(*r.Capacity.RPS) + "/s"
		if r.Capacity.Source != "" {
			capacity += " (" + r.Capacity.Source + ")"
		}
		parts = append(parts, capacity)
	}
	return strings.Join(parts, ", ")
}

// profileName finds the name that a profile has in its JSON form, whatever it is.
func profileName(profile any) string {
	data, err := json.Marshal(profile)
	if err != nil {
		return ""
	}
	var named struct {
		Name string `json:"name"`
	}
	// What is no object has no name.
	if json.Unmarshal(data, &named) != nil {
		return ""
	}
	return named.Name
}

// ending returns the checks, the warnings, the verdict and the command that
// repeats the run.
func ending(r *analysis.Result, o Options) []string {
	var lines []string
	if len(r.Checks) > 0 {
		lines = append(lines, "", o.paint(bold, "checks"))
		for _, c := range r.Checks {
			lines = append(lines, check(c, o))
		}
	}
	if len(r.Warnings) > 0 {
		lines = append(lines, "")
		for _, warning := range r.Warnings {
			lines = append(lines, o.paint(yellow, wrap("warning: "+warning, o.width(), 9)))
		}
	}
	if r.Verdict != "" {
		lines = append(lines, "", "verdict: "+o.paint(verdictColor(r.Verdict), r.Verdict))
	}
	if r.Run.Repeat != "" {
		lines = append(lines, "", "repeat with: "+r.Run.Repeat)
	}
	return lines
}

// check returns a line such as "  pass  plateau >= 0.9: got 0.97".
func check(c analysis.Check, o Options) string {
	const column = 15 // of what follows the longest verdict
	s := c.Name
	if s != condition(c) {
		s += ": want " + c.Want
	}
	got := c.Got
	if got == "" {
		got = absent
	}
	s += ": got " + got
	if c.Why != "" {
		s += " (" + c.Why + ")"
	}
	verdict := fmt.Sprintf("%-12s", c.Verdict)
	s = strings.ReplaceAll(wrap(s, o.width()-column, 0), "\n", "\n"+strings.Repeat(" ", column))
	return "  " + o.paint(verdictColor(c.Verdict), verdict) + " " + s
}

// condition returns a check as it was written, such as "plateau >= 0.9".
func condition(c analysis.Check) string {
	if c.Want == "" || strings.HasSuffix(c.Name, c.Want) {
		return c.Name
	}
	return c.Name + " " + c.Want
}
