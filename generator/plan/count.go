package plan

import (
	"math"
	"math/rand/v2"
)

// Count returns the exact number of arrivals, which for Poisson arrivals and
// for shares takes a walk over them: some nanoseconds each, draws left out
// that do not matter.
func (p *Plan) Count() uint64 {
	w := p.walk()
	if p.share.Of == 1 && !w.poisson {
		return w.countConstant()
	}
	var n uint64
	client := stream(p.spec.Seed, "client")
	for _, ok := w.next(); ok; _, ok = w.next() {
		if p.share.Of == 1 || p.share.holds(clientOf(client, p.spec.Clients)) {
			n++
		}
	}
	return n
}

// countConstant counts a segment at a time. The guess by subtraction may be
// off by one through rounding; what decides is the comparison that next makes.
func (w *walk) countConstant() uint64 {
	var total uint64
	y := w.base
	for i := range w.segments {
		area := w.segments[i].area
		n := max(0, math.Ceil(area-y))
		for n > 0 && y+n-1 >= area {
			n--
		}
		for y+n < area {
			n++
		}
		total += uint64(n)
		y = (y + n) - area
	}
	return total
}

// clientOf draws a client, uniformly. One client needs no draw.
func clientOf(r *rand.PCG, clients int) uint32 {
	if clients == 1 {
		return 0
	}
	return uint32(below(r, uint64(clients)))
}
