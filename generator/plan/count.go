package plan

import (
	"math"
	"math/rand/v2"
)

// Count returns the exact number of arrivals, which for Poisson arrivals and
// for shares takes a walk over them: some nanoseconds each, draws left out
// that do not matter.
func (p *Plan) Count() uint64 {
	var n uint64
	for i := range p.flows {
		n += p.count(&p.flows[i])
	}
	return n
}

func (p *Plan) count(f *flow) uint64 {
	whole := p.share.Of == 1
	if whole && f.offsets != nil {
		return uint64(len(f.offsets))
	}
	w := p.walk(f)
	if whole && !f.poisson {
		return w.countConstant()
	}
	var n uint64
	client := stream(p.spec.Seed, "client"+f.name)
	add := func() {
		if whole || p.share.holds(clientOf(client, p.spec.Clients)) {
			n++
		}
	}
	for range f.offsets {
		add()
	}
	if f.offsets == nil {
		for _, ok := w.next(); ok; _, ok = w.next() {
			add()
		}
	}
	return n
}

// countConstant counts a segment at a time. The guess by subtraction may be
// off by one through rounding; what decides is the comparison that next makes.
func (w *walk) countConstant() uint64 {
	var total uint64
	y := w.base
	for i := range w.flow.segments {
		area := w.flow.segments[i].area
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
