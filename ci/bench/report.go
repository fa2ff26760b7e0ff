package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// A report is what comes out of the program.
type report struct {
	Machine   machine     `json:"machine"`
	Absent    []string    `json:"absent"`
	Rows      []*row      `json:"rows"`
	Goals     []goal      `json:"goals,omitempty"`
	Disturbed disturbance `json:"disturbed"`
}

// A machine is where the figures come from, and how.
type machine struct {
	OS           string  `json:"os"`
	Arch         string  `json:"arch"`
	CPUs         int     `json:"cpus"`
	Go           string  `json:"go"`
	ServerCPU    int     `json:"server_cpu"`
	GeneratorCPU int     `json:"generator_cpu"`
	Connections  int     `json:"connections"`
	Rounds       int     `json:"rounds"`
	RunS         float64 `json:"run_s"`
}

func thisMachine(o *options) machine {
	return machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		ServerCPU: o.serverCPU, GeneratorCPU: o.generatorCPU,
		Connections: o.conns, Rounds: o.rounds, RunS: o.span.Seconds(),
	}
}

// A disturbance is how much of one CPU others took during the runs: what ran
// beside tool, server and kit, and the machine below this one.
type disturbance struct {
	Others spread `json:"others_cpu_share"`
	Stolen spread `json:"stolen_cpu_share"`
}

func disturbed(rows []*row) disturbance {
	all := func(what string) spread {
		var x []float64
		for _, r := range rows {
			for _, v := range r.by(what) {
				x = append(x, v)
			}
		}
		return spreadOf(x)
	}
	return disturbance{Others: all(othersCPU), Stolen: all(stolenCPU)}
}

// print writes the report in the format that is asked for.
func (r *report) print(o *options, w io.Writer) error {
	if o.format == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	m := r.Machine
	fmt.Fprintf(w, "%s/%s, %d CPUs, %s; servers on CPU %s, tools on CPU %s; %d connections; medians of %d rounds of %gs [least..most]\n",
		m.OS, m.Arch, m.CPUs, m.Go, cpuName(m.ServerCPU), cpuName(m.GeneratorCPU), m.Connections, m.Rounds, m.RunS)
	r.printClosed(w)
	r.printOpen(w)
	r.printGoals(w)
	d := r.Disturbed
	fmt.Fprintf(w, "\ndisturbed: others used %s of a CPU, %s of one was stolen\n", percent(d.Others), percent(d.Stolen))
	for _, row := range r.Rows {
		if why := row.failure(); why != "" {
			fmt.Fprintf(w, "%s, %s%s: %d rounds failed, the first with: %s\n", row.Table, row.Tool, at(row.Rate), len(row.failures), why)
		}
	}
	if len(r.Absent) > 0 {
		fmt.Fprintf(w, "not here: %s\n", strings.Join(r.Absent, " "))
	}
	return nil
}

func at(rate float64) string {
	if rate == 0 {
		return ""
	}
	return " at " + number(rate) + "/s"
}

func cpuName(cpu int) string {
	if cpu < 0 {
		return "any"
	}
	return fmt.Sprint(cpu)
}

// printClosed writes a table for each server, the best tool first.
func (r *report) printClosed(w io.Writer) {
	for _, server := range []string{nginxServer, nullServer} {
		rows := r.only(func(r *row) bool { return r.Table == closedTable && r.Server == server })
		if len(rows) == 0 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b *row) int {
			return compare(b.of(perCPUSecond).Median, a.of(perCPUSecond).Median)
		})
		knee := (&sheet{rows}).find(closedTable, server, kneeName, 0)
		fmt.Fprintf(w, "\nclosed loop, server %s\n", server)
		var t table
		t.line("tool", "requests per CPU second", "knee to it", "requests/s", "peak MB", "failed")
		for _, row := range rows {
			t.line(row.Tool, whole(row.of(perCPUSecond)), ratio(over(knee.by(perCPUSecond), row.by(perCPUSecond))),
				wholeMedian(row.of(perSecond)), wholeMedian(row.of(peakMB)), share(row.of(failedShare)))
		}
		t.write(w)
	}
}

// printOpen writes a table for each rate.
func (r *report) printOpen(w io.Writer) {
	var rates []float64
	for _, row := range r.Rows {
		if row.Table == openTable && !slices.Contains(rates, row.Rate) {
			rates = append(rates, row.Rate)
		}
	}
	slices.Sort(rates)
	for _, rate := range rates {
		fmt.Fprintf(w, "\nopen loop, %s/s\n", number(rate))
		var t table
		t.line("tool", "error p50 µs", "p99", "p99.9", "p1 to p99", "gap CV", "rate of asked", "came in time", "CPU µs per request", "peak MB", "failed")
		for _, row := range r.only(func(r *row) bool { return r.Table == openTable && r.Rate == rate }) {
			t.line(row.Tool, one(row.of(errorP50)), one(row.of(errorP99)), wholeMedian(row.of(errorP999)), wholeMedian(row.of(spreadOfAll)),
				two(row.of(gapCV)), part(row.of(rateOfAsked)), part(row.of(achievedPart)), one(row.of(cpuPer)), wholeMedian(row.of(peakMB)), share(row.of(failedShare)))
		}
		t.write(w)
	}
}

// only returns the rows that are wanted, in their order.
func (r *report) only(wanted func(*row) bool) []*row {
	var rows []*row
	for _, row := range r.Rows {
		if wanted(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A table is columns of text: the first to the left, the others to the right.
type table [][]string

func (t *table) line(cells ...string) { *t = append(*t, cells) }

// write writes the lines, in columns as wide as they have to be.
func (t *table) write(w io.Writer) {
	var widths []int
	for _, cells := range *t {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, cells := range *t {
		var b strings.Builder
		fmt.Fprintf(&b, "%-*s", widths[0], cells[0])
		for i, c := range cells[1:] {
			fmt.Fprintf(&b, "  %*s", widths[i+1], c)
		}
		fmt.Fprintln(w, b.String())
	}
}

// none stands where nothing was measured.
const none = "-"

// within writes a spread with a format for its numbers.
func within(s spread, format string) string {
	if s.N == 0 {
		return none
	}
	if s.N == 1 {
		return fmt.Sprintf(format, s.Median)
	}
	return fmt.Sprintf(format+" ["+format+".."+format+"]", s.Median, s.Min, s.Max)
}

func whole(s spread) string { return within(s, "%.0f") }
func one(s spread) string   { return within(s, "%.1f") }
func two(s spread) string   { return within(s, "%.2f") }
func ratio(s spread) string { return within(s, "%.2f") }
func part(s spread) string  { return within(s, "%.4f") }

func wholeMedian(s spread) string {
	if s.N == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", s.Median)
}

func share(s spread) string {
	if s.N == 0 {
		return none
	}
	return fmt.Sprintf("%.1f%%", 100*s.Median)
}

func percent(s spread) string {
	if s.N == 0 {
		return none
	}
	return fmt.Sprintf("%.0f%% [%.0f..%.0f]", 100*s.Median, 100*s.Min, 100*s.Max)
}
