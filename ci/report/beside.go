package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"knee/analysis"
)

// BesideJSON writes what finished runs differ in as JSON.
func BesideJSON(w io.Writer, b *analysis.Beside) error {
	return writeJSON(w, "the comparison", *b, func(*analysis.Beside) {})
}

// Beside writes what finished runs differ in for a terminal: a letter for each run,
// what was set otherwise, and the answers side by side.
func Beside(w io.Writer, b *analysis.Beside, o Options) error {
	_, err := io.WriteString(w, strings.Join(beside(b, o), "\n")+"\n")
	return err
}

// mostSettings is how many settings that differ are told.
const mostSettings = 20

func beside(b *analysis.Beside, o Options) []string {
	var lines []string
	letter := func(i int) string {
		if i < 26 {
			return string(rune('A' + i))
		}
		return fmt.Sprint(i + 1)
	}
	for i, r := range b.Runs {
		s := fmt.Sprintf("%s  %s: knee %s, %s clock", letter(i), r.Name, r.Command, r.Clock)
		if r.StartedAt != nil {
			s += ", " + *r.StartedAt
		}
		lines = append(lines, s+", verdict "+cmp.Or(r.Verdict, absent))
	}
	lines = append(lines, "", o.paint(bold, "set otherwise"))
	if len(b.Settings) == 0 {
		lines = append(lines, "  nothing")
	}
	for i, s := range b.Settings {
		if i == mostSettings {
			lines = append(lines, fmt.Sprintf("  … and %d more", len(b.Settings)-i))
			break
		}
		var values []string
		for _, v := range s.Values {
			values = append(values, cmp.Or(v, absent))
		}
		lines = append(lines, "  "+wrap(s.Path+": "+strings.Join(values, " | "), o.width()-2, 4))
	}
	lines = append(lines, "", o.paint(bold, "answers"))
	for _, a := range b.Answers {
		for i, v := range a.Values {
			name := ""
			if i == 0 {
				name = a.Answer
			}
			line := fmt.Sprintf("  %-20s %s  %-34s %s", name, letter(i), valueBeside(v, a.Unit), difference(v))
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	return append(lines, "", wrap("Runs that were made one after the other differ by the hour as well: a gate with --baseline-cmd and --candidate-cmd runs both by turns.", o.width(), 0))
}

// valueBeside says one answer with its interval.
func valueBeside(v analysis.ValueBeside, unit string) string {
	if v.Value == nil {
		return spell(v.Text)
	}
	return fmt.Sprintf("%.4g%s (%s)", *v.Value, unit, interval(v.Low, v.High, func(x float64) string { return fmt.Sprintf("%.4g", x) }))
}

// difference says how an answer differs from the first run's.
func difference(v analysis.ValueBeside) string {
	switch v.Difference {
	case analysis.Higher, analysis.Lower:
		if v.Change == nil {
			return v.Difference
		}
		return fmt.Sprintf("%s, %+.1f%%", v.Difference, 100**v.Change)
	case analysis.Other:
		return "another answer"
	case analysis.NoneSeen:
		return "no difference seen"
	case analysis.NoWord:
		return "cannot tell"
	}
	return ""
}
