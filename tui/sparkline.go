package tui

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// sparkline draws goodput against load in one line, in the order of the loads.
// Where there are more points than columns, the highest loads are shown.
func sparkline(points []Point, width int) string {
	points = slices.SortedStableFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.Load, b.Load) })
	points = points[max(0, len(points)-max(0, width)):]
	top := 0.0
	for _, p := range points {
		top = max(top, p.Goodput)
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range points {
		height := 0
		if p.Goodput > 0 && !math.IsInf(top, 0) {
			height = int(p.Goodput/top*float64(len(blocks)-1) + 0.5)
		}
		b.WriteRune(blocks[height])
	}
	return b.String()
}
