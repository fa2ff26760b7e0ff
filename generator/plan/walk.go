package plan

import "math/rand/v2"

// A walk steps over the positions of the arrivals: what a cursor does before
// anything is drawn for them.
type walk struct {
	segments []segment
	segment  *segment // where it is
	step     int      // index of segment
	poisson  bool
	gaps     *rand.Rand
	base     float64 // position in the segment: of the last arrival (Poisson) or of the first (Constant)
	nth      float64 // Constant: arrivals since base
}

func (p *Plan) walk() walk {
	w := walk{segments: p.segments, segment: &p.segments[0], poisson: p.spec.Arrivals == Poisson}
	if w.poisson {
		w.gaps = rand.New(stream(p.spec.Seed, "gaps"))
	} else {
		w.base = 0.5
	}
	return w
}

// next returns the position of the next arrival within the segment w.segment,
// or false past the last one.
func (w *walk) next() (float64, bool) {
	var y float64
	if w.poisson {
		w.base += w.gaps.ExpFloat64()
		y = w.base
	} else {
		y = w.base + w.nth
		w.nth++
	}
	if y < w.segment.area {
		return y, true
	}
	return w.cross(y)
}

// cross carries a position that lies past the segment into the one that holds
// it.
func (w *walk) cross(y float64) (float64, bool) {
	for y >= w.segment.area {
		if w.step+1 == len(w.segments) {
			return 0, false
		}
		y -= w.segment.area
		w.step++
		w.segment = &w.segments[w.step]
	}
	w.base, w.nth = y, 1
	return y, true
}
