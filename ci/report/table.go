package report

import (
	"fmt"
	"slices"
	"strings"

	"knee/analysis"
)

// table returns a line for each load, and below it why some of them support no
// claim. Rates and percentiles are medians of the trials, shares are of all
// arrivals of the trials together. Where the terminal is narrow, the columns that
// matter least are left out.
func table(loads []load, o Options) []string {
	columns := columnsFor(loads)
	lines := align(columns, loads)
	for _, dropped := range []string{"p50 ms", "other%", "phase"} {
		if len(lines[0])+len("! ") <= o.width() {
			break
		}
		columns = slices.DeleteFunc(columns, func(c column) bool { return c.name == dropped })
		lines = align(columns, loads)
	}
	for i, l := range loads {
		mark := "  "
		if !l.valid() {
			mark = o.paint(yellow, "! ")
		}
		lines[i+1] = mark + lines[i+1]
	}
	lines[0] = o.paint(bold, "  "+lines[0])
	for _, l := range loads {
		if len(l.invalid) > 0 {
			lines = append(lines, o.paint(yellow, wrap(note(l), o.width(), 2)))
		}
	}
	return lines
}

// A column is one property of the loads.
type column struct {
	name string
	cell func(load) string
	left bool // words, not numbers
}

// columnsFor returns the columns; the phase is one where there are several.
func columnsFor(loads []load) []column {
	share := func(name string, part func(analysis.Counts) uint64) column {
		return column{name: name, cell: func(l load) string { return percent(part(l.counts), l.counts.Planned) }}
	}
	columns := []column{
		{name: "load", cell: func(l load) string { return maybe(l.x, multiple) }},
		{name: "offered/s", cell: func(l load) string { return rate(l.offered) }},
		{name: "goodput/s", cell: func(l load) string { return rate(l.goodput) }},
		share("good%", func(c analysis.Counts) uint64 { return c.Good }),
		share("late%", func(c analysis.Counts) uint64 { return c.Late }),
		share("rejected%", func(c analysis.Counts) uint64 { return c.Rejected }),
		share("other%", func(c analysis.Counts) uint64 {
			return c.Timeout + c.Failed + c.Withheld + c.Unsent + c.Unfinished
		}),
		{name: "p50 ms", cell: func(l load) string { return maybe(l.p50, decimals(1)) }},
		{name: "p99 ms", cell: func(l load) string { return maybe(l.p99, decimals(1)) }},
	}
	if slices.ContainsFunc(loads, func(l load) bool { return l.name != loads[0].name }) {
		columns = append(columns, column{name: "phase", cell: func(l load) string { return l.name }, left: true})
	}
	return columns
}

// note says why trials of a load support no claim.
func note(l load) string {
	reasons := slices.Compact(slices.Sorted(slices.Values(l.invalid)))
	which := "supports no claim"
	if l.valid() {
		which = fmt.Sprintf("%d of %s left out", len(l.invalid), plural(l.trials, "trial"))
	}
	return fmt.Sprintf("! %s/s %s: %s", rate(l.intended), which, strings.Join(reasons, "; "))
}

// align returns the header and a line for each load.
func align(columns []column, loads []load) []string {
	lines := make([]string, len(loads)+1)
	for n, c := range columns {
		cells := []string{c.name}
		for _, l := range loads {
			cells = append(cells, c.cell(l))
		}
		width := 0
		for _, cell := range cells {
			width = max(width, len(cell))
		}
		for i, cell := range cells {
			if n > 0 {
				lines[i] += " "
			}
			if c.left {
				lines[i] += cell
			} else {
				lines[i] += fmt.Sprintf("%*s", width, cell)
			}
		}
	}
	return lines
}
