package report

import (
	"fmt"
	"io"
	"strings"

	"knee/analysis"
)

// Scoreboard writes a scoreboard for a terminal: the load, a row for each chain
// of protections, and what the columns mean. It is as wide as it has to be.
func Scoreboard(w io.Writer, b *analysis.Scoreboard, o Options) error {
	lines := []string{o.paint(bold, wrap(heading(&analysis.Result{Run: b.Run, Profile: b.Profile, Capacity: b.Capacity}), o.width(), 2)), ""}
	lines = append(lines, wrap(storySentence(b.Story), o.width(), 2), "")
	lines = append(lines, board(b.Rows, o)...)
	lines = append(lines, "", wrap("good/s is goodput before the spike, in it, right after it for as long as it was, and at the end; "+
		"knee is the load up to which nearly every request is answered in time; at 10x is the share of the goodput that is left at ten times that; "+
		"p99 is of good answers where it was longest; wasted is the share of the finished work that was of no use to anybody; "+
		"queue is the longest it was; back is the time from the end of the spike until goodput was back.", o.width(), 2))
	for _, warning := range b.Warnings {
		lines = append(lines, o.paint(yellow, wrap("warning: "+warning, o.width(), 9)))
	}
	if b.Run.Repeat != "" {
		lines = append(lines, "", "repeat with: "+b.Run.Repeat)
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// storySentence describes the spike.
func storySentence(s analysis.Story) string {
	of := "the spike of the profile"
	if s.Of == "find" {
		of = "a spike, since the profile has none"
	}
	return fmt.Sprintf("%s: %s/s, then %s/s for %s s, and %s s after it", of, rate(s.BeforeRPS), rate(s.SpikeRPS), fixed(s.SpikeS, 1), fixed(s.AfterS, 1))
}

// board returns the header and a line for each row.
func board(rows []analysis.Row, o Options) []string {
	type cell struct {
		name string
		of   func(analysis.Row) string
		left bool
	}
	cells := []cell{
		{"protections", func(r analysis.Row) string { return r.Protect }, true},
		{"order", func(r analysis.Row) string { return r.Order }, true},
		{"good/s", func(r analysis.Row) string { return maybe(r.BeforeRPS, whole) }, false},
		{"spike", func(r analysis.Row) string { return maybe(r.SpikeRPS, whole) }, false},
		{"after", func(r analysis.Row) string { return maybe(r.AfterRPS, whole) }, false},
		{"end", func(r analysis.Row) string { return maybe(r.EndRPS, whole) }, false},
		{"knee", func(r analysis.Row) string { return maybe(r.Knee.RPS, whole) }, false},
		{"at 10x", func(r analysis.Row) string { return maybe(r.Retention10x, share) }, false},
		{"p99 ms", func(r analysis.Row) string { return maybe(r.GoodP99MS, whole) }, false},
		{"wasted", func(r analysis.Row) string { return maybe(r.Wasted, share) }, false},
		{"rejected", func(r analysis.Row) string { return maybe(r.RejectedPart, share) }, false},
		{"queue", func(r analysis.Row) string { return peak(r.PeakQueue) }, false},
		{"back", func(r analysis.Row) string { return back(r.Recovery) }, false},
		{"", func(r analysis.Row) string { return r.Verdict }, true},
	}
	sameOrder := true
	for _, r := range rows {
		sameOrder = sameOrder && r.Order == rows[0].Order
	}
	if sameOrder {
		cells = append(cells[:1], cells[2:]...)
	}
	lines := make([]string, len(rows)+1)
	for n, c := range cells {
		texts, width := []string{c.name}, len(c.name)
		for _, r := range rows {
			text := c.of(r)
			texts = append(texts, text)
			width = max(width, len(text))
		}
		for i, text := range texts {
			pad := strings.Repeat(" ", width-len(text))
			switch {
			case n == len(cells)-1 && i > 0:
				lines[i] += "  " + o.paint(rowColor(text), text)
			case n == len(cells)-1:
			case c.left && n == 0:
				lines[i] += text + pad
			case c.left:
				lines[i] += "  " + text + pad
			default:
				lines[i] += "  " + pad + text
			}
		}
	}
	lines[0] = o.paint(bold, strings.TrimRight(lines[0], " "))
	return lines
}

func whole(v float64) string { return fixed(v, 0) }

// share formats a share in percent; what is not quite none or all does not read
// as if it were.
func share(v float64) string {
	p := fixed(100*v, 0)
	switch {
	case v > 0 && p == "0":
		return "<1%"
	case v < 1 && p == "100":
		return ">99%"
	}
	return p + "%"
}

func peak(n *int) string {
	if n == nil {
		return absent
	}
	return fmt.Sprint(*n)
}

// back says when goodput was back.
func back(r analysis.Recovery) string {
	switch {
	case r.Verdict == "recovered" && known(r.MedianS):
		return fixed(*r.MedianS, 1) + "s"
	case r.Verdict == "slow" && known(r.ProjectionS):
		return "~" + fixed(*r.ProjectionS, 0) + "s"
	case r.Verdict == "not_recovered":
		return "never"
	}
	return absent
}

func rowColor(verdict string) color {
	switch verdict {
	case analysis.RowHolds:
		return green
	case analysis.RowCollapses, analysis.RowStuck:
		return red
	}
	return yellow
}
