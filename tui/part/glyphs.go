package part

// Glyphs are what curves are made of. Each is a step down from the one before: a terminal
// or its font may not have the better one.
type Glyphs uint8

// The glyphs, the finest first.
const (
	Braille Glyphs = iota // two by four dots in a cell
	Blocks                // a cell is two halves, one above the other
	ASCII
)

// dots returns how many points a cell has in each direction.
func (g Glyphs) dots() (x, y int) {
	switch g {
	case Braille:
		return 2, 4
	case Blocks:
		return 1, 2
	}
	return 1, 1
}

// braille are the bits of the dots of a cell, by column and row.
var braille = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}

const (
	brailleBlank = '⠀'
	upper        = '▀'
	lower        = '▄'
	full         = '█'
)

// plot sets a point of the finer grid that the glyphs make of v. Points of several roles
// in one cell take the last one.
func (g Glyphs) plot(v View, x, y int, mark rune, role Role) {
	dx, dy := g.dots()
	if x < 0 || y < 0 {
		return
	}
	cx, cy := x/dx, y/dy
	if cx >= v.width || cy >= v.height {
		return
	}
	old := v.at(cx, cy)
	switch g {
	case Braille:
		bits := rune(0)
		if old >= brailleBlank && old <= brailleBlank+0xff {
			bits = old - brailleBlank
		}
		v.Set(cx, cy, brailleBlank+(bits|braille[x%dx][y%dy]), role)
	case Blocks:
		half, other := upper, lower
		if y%dy == 1 {
			half, other = lower, upper
		}
		if old == other || old == full {
			half = full
		}
		v.Set(cx, cy, half, role)
	default:
		v.Set(cx, cy, mark, role)
	}
}

// eighths are the ends of bars that grow upwards.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// rising returns the rune of a cell of which so many eighths are filled from below.
func (g Glyphs) rising(n int) rune {
	n = min(max(n, 0), 8)
	if g == ASCII {
		return []rune(" .:|")[(n+2)/3]
	}
	return eighths[n]
}
