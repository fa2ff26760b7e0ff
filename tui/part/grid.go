// Package part draws on a grid of character cells: text, lines, stacks and bars.
//
// A cell has one rune and one Role. What a role looks like is decided where the grid is
// rendered, once for each run of cells of one role: colour costs next to nothing, and
// nothing here depends on a terminal.
package part

import (
	"strings"
	"unicode"
)

// A Role says what a cell is, not what colour it has.
type Role uint8

// The roles. State is never told by a role alone: a glyph or a word stands beside it.
const (
	Plain  Role = iota
	Dim         // axes, labels, what is not live
	Strong      // titles
	Good
	Warn
	Bad
	Accent // what the reader is to look at
	Other1 // parts of a whole, beside one another
	Other2
	Other3
	Roles // how many there are
)

type cell struct {
	r    rune
	role Role
}

// A Grid is a rectangle of cells, blank at first.
type Grid struct {
	width, height int
	cells         []cell
}

// New returns a blank grid; a negative side is 0.
func New(width, height int) *Grid {
	width, height = max(width, 0), max(height, 0)
	g := &Grid{width: width, height: height, cells: make([]cell, width*height)}
	g.Clear()
	return g
}

// Clear makes every cell blank.
func (g *Grid) Clear() {
	for i := range g.cells {
		g.cells[i] = cell{r: ' '}
	}
}

// All returns a view of the whole grid.
func (g *Grid) All() View { return View{g, 0, 0, g.width, g.height} }

// Render returns the grid as lines with a newline between them. paint returns a run of
// cells of one role as the terminal is to get it; nil leaves it as it is. Blanks at the
// end of a line are left out.
func (g *Grid) Render(paint func(Role, string) string) string {
	var b strings.Builder
	var run strings.Builder
	for y := range g.height {
		if y > 0 {
			b.WriteByte('\n')
		}
		row := g.cells[y*g.width : (y+1)*g.width]
		end := len(row)
		for end > 0 && row[end-1].r == ' ' {
			end--
		}
		for x := 0; x < end; {
			role := row[x].role
			run.Reset()
			for ; x < end && (row[x].role == role || row[x].r == ' '); x++ {
				run.WriteRune(row[x].r)
			}
			if paint == nil || role == Plain {
				b.WriteString(run.String())
			} else {
				b.WriteString(paint(role, run.String()))
			}
		}
	}
	return b.String()
}

// A View is a rectangle of a grid. What is drawn outside it is not seen.
type View struct {
	grid          *Grid
	x, y          int
	width, height int
}

// Width and Height are in cells.
func (v View) Width() int { return v.width }

// Height is in cells.
func (v View) Height() int { return v.height }

// Sub returns a part of v, clipped to it.
func (v View) Sub(x, y, width, height int) View {
	x0, y0 := min(max(x, 0), v.width), min(max(y, 0), v.height)
	x1, y1 := min(max(x+width, x0), v.width), min(max(y+height, y0), v.height)
	return View{v.grid, v.x + x0, v.y + y0, x1 - x0, y1 - y0}
}

// Set puts a rune into a cell.
func (v View) Set(x, y int, r rune, role Role) {
	if x < 0 || y < 0 || x >= v.width || y >= v.height {
		return
	}
	v.grid.cells[(v.y+y)*v.grid.width+v.x+x] = cell{narrow(r), role}
}

// at returns the rune of a cell.
func (v View) at(x, y int) rune { return v.grid.cells[(v.y+y)*v.grid.width+v.x+x].r }

// Text writes s from x on and returns the column after it. What does not fit is cut off,
// with … as its last rune.
func (v View) Text(x, y int, s string, role Role) int {
	runes := []rune(s)
	for i, r := range runes {
		if x == v.width-1 && i < len(runes)-1 {
			v.Set(x, y, '…', role)
			return x + 1
		}
		v.Set(x, y, r, role)
		x++
	}
	return x
}

// Right writes s so that it ends before column x, and returns the column at which it
// begins.
func (v View) Right(x, y int, s string, role Role) int {
	x -= len([]rune(s))
	v.Text(x, y, s, role)
	return x
}

// narrow returns a rune that takes one cell: what takes two, or none, would move all
// that stands beside it.
func narrow(r rune) rune {
	switch {
	case r < ' ' || r == 0x7f || !unicode.IsPrint(r), unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return '?'
	case r >= 0x1100 && (r <= 0x115f || // Hangul
		r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300):
		return '?'
	}
	return r
}
