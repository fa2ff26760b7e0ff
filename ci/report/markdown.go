package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"knee/analysis"
	"knee/ci/verdict"
)

// mostMarkdown bounds what Markdown writes, in bytes: the summary of a step of
// GitHub may have 1 MiB, and is dropped without a word somewhat below it.
const mostMarkdown = 256 << 10

// mostPoints bounds the loads that are drawn.
const mostPoints = 60

// Markdown writes the verdict, the checks, the answers, the goodput curve as a
// Mermaid chart and the loads as a table, in at most 256 KiB: what is more is cut
// off at the end of a line, and the last line says so.
func Markdown(w io.Writer, r *analysis.Result) error {
	const cut = "\n… cut off\n"
	loads := loadsOf(r)
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n", prose(heading(r)), cmp.Or(r.Verdict, "no verdict"))
	if len(r.Checks) > 0 {
		b.WriteString("| | check | got | why |\n|---|---|---|---|\n")
		for _, c := range r.Checks {
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", mark(c.Verdict), code(condition(c)), prose(cmp.Or(c.Got, absent)), prose(c.Why))
		}
		b.WriteString("\n")
	}
	for _, line := range answers(r, loads, Options{Width: 1 << 20}) {
		topic, sentence, _ := strings.Cut(line, ": ")
		fmt.Fprintf(&b, "- **%s**: %s\n", topic, prose(sentence))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "- **warning**: %s\n", prose(warning))
	}
	if r.Gate == nil {
		chart(&b, loads)
	}
	loadTable(&b, loads)
	if r.Run.Repeat != "" {
		fmt.Fprintf(&b, "\nrepeat with `%s`\n", code(r.Run.Repeat))
	}
	text := b.String()
	if len(text) > mostMarkdown {
		text = text[:strings.LastIndexByte(text[:mostMarkdown-len(cut)], '\n')+1] + cut
	}
	_, err := io.WriteString(w, text)
	return err
}

// mark returns the sign of a verdict, and the verdict, for those who do not see
// signs.
func mark(v string) string {
	switch v {
	case verdict.Pass:
		return "✅ pass"
	case verdict.Fail:
		return "❌ fail"
	}
	return "❔ " + prose(v)
}

// chart draws goodput against offered load.
func chart(b *strings.Builder, loads []load) {
	var points []load
	for _, l := range loads {
		if l.valid() && l.steady() && isFinite(l.goodput) && isFinite(l.offered) && (len(points) == 0 || l.intended > points[len(points)-1].intended) {
			points = append(points, l)
		}
	}
	if len(points) < 2 || len(points) > mostPoints {
		return
	}
	names, values := make([]string, len(points)), make([]string, len(points))
	for i, l := range points {
		names[i], values[i] = `"`+rate(l.intended)+`"`, fixed(l.goodput, 1)
	}
	fmt.Fprintf(b, "\n```mermaid\nxychart-beta\n    title \"goodput against offered load\"\n    x-axis \"offered/s\" [%s]\n    y-axis \"goodput/s\"\n    line [%s]\n```\n",
		strings.Join(names, ", "), strings.Join(values, ", "))
}

// loadTable lists the loads.
func loadTable(b *strings.Builder, loads []load) {
	if len(loads) == 0 {
		return
	}
	b.WriteString("\n| phase | load/s | offered/s | goodput/s | good | late | rejected | p50 ms | p99 ms |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, l := range loads {
		n := l.counts.Planned
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s%% | %s%% | %s%% | %s | %s |\n", prose(l.name), rate(l.intended), rate(l.offered), rate(l.goodput),
			percent(l.counts.Good, n), percent(l.counts.Late, n), percent(l.counts.Rejected, n), maybe(l.p50, decimals(1)), maybe(l.p99, decimals(1)))
	}
}

// prose makes s stand in a cell of a table as what it is: on one line, with
// nothing that Markdown or HTML would take for its own.
func prose(s string) string {
	return escapes.Replace(strings.Join(strings.Fields(xmlText(s)), " "))
}

var escapes = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`)

// code makes s stand between backquotes.
func code(s string) string {
	return strings.NewReplacer("`", "'", "|", `\|`).Replace(strings.Join(strings.Fields(xmlText(s)), " "))
}
