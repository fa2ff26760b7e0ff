package part

import (
	"math"
	"strconv"
)

// A Curve is values side by side, the newest last; NaN is a gap.
type Curve struct {
	Values []float64
	Role   Role
	Mark   rune // in ASCII, where curves look alike
}

// A Mark is an instant worth seeing: a column with a rune at its top.
type Mark struct {
	At   int // index of the value
	Rune rune
	Role Role
}

// Scale says which values a chart shows, and how it labels them.
type Scale struct {
	Low, High float64                // of the axis; both 0: from 0 to the highest value
	Label     func(v float64) string // nil: three digits
}

// axis is how wide the labels of a chart are.
const axis = 6

// fit returns the scale with ends that the curves fit in.
func (s Scale) fit(curves []Curve) Scale {
	if s.Label == nil {
		s.Label = func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	}
	if s.Low != 0 || s.High != 0 {
		return s
	}
	for _, c := range curves {
		for _, v := range c.Values {
			if v > s.High && !math.IsInf(v, 0) {
				s.High = v
			}
		}
	}
	if s.High == 0 {
		s.High = 1
	}
	s.High *= 1.05
	return s
}

// Lines draws curves over one another, the last on top, as many of their newest values
// as there is room for, with labels at the left.
func Lines(v View, g Glyphs, s Scale, curves []Curve, marks ...Mark) {
	if v.width <= axis || v.height == 0 {
		return
	}
	plane := v.Sub(axis, 0, v.width-axis, v.height)
	dx, dy := g.dots()
	width, height := plane.width*dx, plane.height*dy
	longest := 0
	for _, c := range curves {
		longest = max(longest, len(c.Values))
	}
	first := max(0, longest-width)
	shown := make([]Curve, len(curves))
	for i, c := range curves {
		shown[i] = c
		shown[i].Values = c.Values[min(first, len(c.Values)):]
	}
	s = s.fit(shown)
	for _, m := range marks {
		if x := (m.At - first) / dx; m.At >= first && x < plane.width {
			for y := range plane.height {
				plane.Set(x, y, bar(g), Dim)
			}
			plane.Set(x, 0, m.Rune, m.Role)
		}
	}
	row := func(value float64) int {
		return int(math.Round((s.High - value) / (s.High - s.Low) * float64(height-1)))
	}
	for _, c := range shown {
		last := -1
		for x, value := range c.Values {
			if math.IsNaN(value) || math.IsInf(value, 0) {
				last = -1
				continue
			}
			y := min(max(row(value), 0), height-1)
			from, to := y, y
			if last >= 0 { // a step has no hole in it
				from, to = min(y, last), max(y, last)
			}
			for at := from; at <= to; at++ {
				if g == ASCII && at != y {
					continue // one mark a column is legible, a wall of them is not
				}
				g.plot(plane, x, at, c.Mark, c.Role)
			}
			last = y
		}
	}
	labels(v, s)
}

// bar is the rune of a vertical line.
func bar(g Glyphs) rune {
	if g == ASCII {
		return '|'
	}
	return '┊'
}

// labels writes the ends of the scale, and its middle where there is room.
func labels(v View, s Scale) {
	put := func(y int, value float64) { v.Right(axis-1, y, clip(s.Label(value), axis-1), Dim) }
	put(0, s.High)
	if v.height >= 5 {
		put((v.height-1)/2, s.High-(s.High-s.Low)*float64((v.height-1)/2)/float64(v.height-1))
	}
	if v.height > 1 {
		put(v.height-1, s.Low)
	}
}

// clip shortens s to n runes.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// Stack draws parts of a whole on top of one another, the first at the bottom, a column
// for each of their newest values.
func Stack(v View, g Glyphs, s Scale, parts []Curve) {
	if v.width <= axis || v.height == 0 {
		return
	}
	plane := v.Sub(axis, 0, v.width-axis, v.height)
	longest := 0
	for _, p := range parts {
		longest = max(longest, len(p.Values))
	}
	first := max(0, longest-plane.width)
	sums := make([]float64, longest-first)
	for _, p := range parts {
		for i := first; i < len(p.Values); i++ {
			sums[i-first] += positive(p.Values[i])
		}
	}
	s = s.fit([]Curve{{Values: sums}})
	for x := range sums {
		level := 0.0
		for n, p := range parts {
			i := first + x
			if i >= len(p.Values) {
				continue
			}
			from := level
			level += positive(p.Values[i])
			column(plane, g, x, from/s.High, level/s.High, p, shades[min(n, len(shades)-1)])
		}
	}
	labels(v, s)
}

// shades tell the parts of a stack apart where there are no colours.
var shades = []rune("█▓▒░")

// column fills a column of v between two shares of its height.
func column(v View, g Glyphs, x int, from, to float64, p Curve, shade rune) {
	height := float64(8 * v.height) // in eighths of a cell
	low, high := int(math.Round(from*height)), int(math.Round(to*height))
	for y := low / 8; y*8 < high && y < v.height; y++ {
		filled := min(high-8*y, 8)
		r := g.rising(filled)
		switch {
		case g == ASCII && filled > 0:
			r = p.Mark
		case r == full:
			r = shade
		}
		if r != ' ' {
			v.Set(x, v.height-1-y, r, p.Role)
		}
	}
}

func positive(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// Meter draws how much of a range is taken, 0 to 1, as a bar of v's width.
func Meter(v View, g Glyphs, share float64, role Role) {
	share = min(max(share, 0), 1)
	if math.IsNaN(share) {
		share = 0
	}
	n := int(math.Round(share * float64(v.width)))
	on, off := full, '░'
	if g == ASCII {
		on, off = '#', '-'
	}
	for x := range v.width {
		if x < n {
			v.Set(x, 0, on, role)
		} else {
			v.Set(x, 0, off, Dim)
		}
	}
}

// Points draws x against y, both linear, with a rune for each point.
func Points(v View, x, y [2]float64, at [][2]float64, mark rune, role Role) {
	if !(x[1] > x[0]) || !(y[1] > y[0]) {
		return
	}
	for _, p := range at {
		cx := math.Round((p[0] - x[0]) / (x[1] - x[0]) * float64(v.width-1))
		cy := math.Round((y[1] - p[1]) / (y[1] - y[0]) * float64(v.height-1))
		if !math.IsNaN(cx) && !math.IsNaN(cy) && math.Abs(cx) < 1e6 && math.Abs(cy) < 1e6 {
			v.Set(int(cx), int(cy), mark, role)
		}
	}
}
