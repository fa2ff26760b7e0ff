package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/analysis"
)

const (
	plotHeight = 12 // rows
	gutter     = 9  // columns of the labels of the y axis
	headroom   = 1.1
)

// A plot is the goodput curve as a grid of characters: the offered load on a
// logarithmic axis, goodput on a linear one.
type plot struct {
	cells      [][]rune
	low, high  float64 // of x
	top        float64 // of y
	kneeColumn int     // -1: none
}

// curve draws the steady loads. It returns nothing where there are fewer than
// two, or where no number could be drawn.
func curve(loads []load, k analysis.Knee, o Options) []string {
	p, ok := newPlot(loads, o.width()-gutter-2)
	if !ok {
		return nil
	}
	p.ray()
	p.knee(k)
	invalid := p.points(loads, 'x', func(l load) bool { return !l.valid() })
	p.points(loads, 'o', load.valid)
	return p.render(k, invalid, o)
}

func (l load) drawable() bool {
	return l.steady() && isFinite(l.offered) && isFinite(l.goodput) && l.offered > 0
}

func newPlot(loads []load, width int) (*plot, bool) {
	var x, y []float64
	for _, l := range loads {
		if l.drawable() {
			x, y = append(x, l.offered), append(y, l.goodput)
		}
	}
	return gridOf(x, y, width)
}

// gridOf returns a plot with nothing in it that has room for points.
func gridOf(x, y []float64, width int) (*plot, bool) {
	if len(x) < 2 || slices.Max(x) <= slices.Min(x) {
		return nil, false
	}
	p := &plot{low: slices.Min(x), high: slices.Max(x), top: slices.Max(y), kneeColumn: -1}
	if p.top <= 0 {
		p.top = p.high
	}
	p.top *= headroom
	p.cells = make([][]rune, plotHeight)
	for i := range p.cells {
		p.cells[i] = []rune(strings.Repeat(" ", width))
	}
	return p, true
}

func (p *plot) width() int { return len(p.cells[0]) }

// column returns where x stands; it may lie outside the grid.
func (p *plot) column(x float64) int {
	return int(math.Round(math.Log(x/p.low) / math.Log(p.high/p.low) * float64(p.width()-1)))
}

// row returns where y stands, from the top; it may lie outside the grid.
func (p *plot) row(y float64) int {
	return int(math.Round((1 - y/p.top) * (plotHeight - 1)))
}

func (p *plot) set(column, row int, mark rune) {
	if column >= 0 && column < p.width() && row >= 0 && row < plotHeight {
		p.cells[row][column] = mark
	}
}

// ray draws what goodput would be if every request were good.
func (p *plot) ray() {
	for c := range p.width() {
		x := p.low * math.Pow(p.high/p.low, float64(c)/float64(p.width()-1))
		if x <= p.top {
			p.set(c, p.row(x), '.')
		}
	}
}

// points draws the loads that are wanted and returns how many there are.
func (p *plot) points(loads []load, mark rune, wanted func(load) bool) int {
	n := 0
	for _, l := range loads {
		if l.drawable() && wanted(l) {
			p.set(p.column(l.offered), p.row(l.goodput), mark)
			n++
		}
	}
	return n
}

func (p *plot) knee(k analysis.Knee) {
	if !known(k.RPS) || *k.RPS <= 0 {
		return
	}
	c := p.column(*k.RPS)
	if c < 0 || c >= p.width() {
		return
	}
	p.kneeColumn = c
	for row := range plotHeight {
		p.set(c, row, '|')
	}
}

// render returns the lines of the plot with its axes and labels; invalid is how
// many points support no claim.
func (p *plot) render(k analysis.Knee, invalid int, o Options) []string {
	lines := []string{"goodput/s"}
	if p.kneeColumn >= 0 {
		label := "knee " + rate(*k.RPS) + "/s"
		at := min(max(p.kneeColumn-len(label)/2, 2), p.width()-len(label))
		lines[0] += strings.Repeat(" ", gutter+2+at-len(lines[0])) + label
	}
	legend := "offered/s (log)  o goodput  . goodput = offered"
	if invalid > 0 {
		legend += "  x no claim"
	}
	return append(lines, p.framed(legend, o)...)
}

// framed returns the rows with their axes and a legend below.
func (p *plot) framed(legend string, o Options) []string {
	var lines []string
	peak := p.top / headroom
	for row, cells := range p.cells {
		label := ""
		switch row {
		case p.row(peak):
			label = rate(peak)
		case p.row(peak / 2):
			label = rate(peak / 2)
		case plotHeight - 1:
			label = "0"
		}
		lines = append(lines, fmt.Sprintf("%*s |", gutter, label)+paintCells(strings.TrimRight(string(cells), " "), o))
	}
	lines = append(lines, strings.Repeat(" ", gutter+1)+"+"+strings.Repeat("-", p.width()))
	lines = append(lines, strings.Repeat(" ", gutter+2)+p.ticks())
	indent := min(gutter+2, o.width()-len(legend))
	return append(lines, strings.Repeat(" ", indent)+legend)
}

// paintCells colours one row: the ray faintly, the points boldly.
func paintCells(row string, o Options) string {
	if !o.Color {
		return row
	}
	colors := map[rune]color{'.': faint, 'o': green, 'x': yellow, '|': bold, '^': green, 'v': yellow}
	var b strings.Builder
	for _, r := range row {
		b.WriteString(o.paint(colors[r], string(r)))
	}
	return b.String()
}

// ticks labels the x axis at 1, 2 and 5 times the powers of ten, where there is
// room; a tick's label begins below its place.
func (p *plot) ticks() string {
	line := []rune(strings.Repeat(" ", p.width()))
	free := 0
	put := func(x float64) {
		label := []rune(rate(x))
		c := p.column(x)
		if c = min(c, p.width()-len(label)); c < free {
			return
		}
		copy(line[c:], label)
		free = c + len(label) + 2
	}
	put(p.low)
	for decade := math.Pow(10, math.Floor(math.Log10(p.low))); decade <= p.high; decade *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if x := m * decade; x > p.low && x < p.high && p.column(x)+len(rate(x))+2 <= p.width()-len(rate(p.high)) {
				put(x)
			}
		}
	}
	put(p.high)
	return strings.TrimRight(string(line), " ")
}

// hysteresis draws goodput as the load rose and as it fell again.
func hysteresis(l *analysis.Loop, o Options) []string {
	if l == nil {
		return nil
	}
	var x, y []float64
	for _, p := range l.Points {
		if !isFinite(p.OfferedRPS) || !isFinite(p.UpRPS) || !isFinite(p.DownRPS) || p.OfferedRPS <= 0 {
			return nil
		}
		x, y = append(x, p.OfferedRPS), append(y, max(p.UpRPS, p.DownRPS))
	}
	p, ok := gridOf(x, y, o.width()-gutter-2)
	if !ok {
		return nil
	}
	p.ray()
	for _, at := range l.Points {
		p.set(p.column(at.OfferedRPS), p.row(at.UpRPS), '^')
		p.set(p.column(at.OfferedRPS), p.row(at.DownRPS), 'v')
	}
	lines := []string{fmt.Sprintf("goodput/s as the load rose and fell: %s of it lies between the two ways", fixed(100*l.Area, 1)+"%")}
	return append(append(lines, p.framed("offered/s (log)  ^ rising  v falling  . goodput = offered", o)...), "")
}
