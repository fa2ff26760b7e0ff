package plan

import (
	"math/rand/v2"
	"time"
)

// A walk steps over the arrivals of one flow: what a cursor does before
// anything is drawn for them.
//
// It goes piece by piece. A piece is a segment or, with bursts, as much of one
// as lies in one state. Positions in a piece are in arrivals, as the integral of
// the rate from its start.
type walk struct {
	flow    *flow
	at      int      // index of segment, or of the offset that comes next
	segment *segment // where it is; nil among offsets
	area    float64  // expected arrivals in the piece
	gaps    *rand.Rand
	base    float64 // position in the piece: of the last arrival (Poisson) or of the first (Constant)
	nth     float64 // Constant: arrivals since base

	bursts *bursts       // nil without
	from   float64       // position in the segment at which the piece begins
	begin  time.Duration // instants at which it begins …
	end    time.Duration // … and ends
	factor float64       // multiple of the segment's rate in it
}

func (p *Plan) walk(f *flow) walk {
	w := walk{flow: f}
	if f.offsets != nil {
		return w
	}
	w.segment = &f.segments[0]
	w.area = w.segment.area
	if f.poisson {
		w.gaps = rand.New(stream(p.spec.Seed, "gaps"+f.name))
	} else {
		w.base = 0.5
	}
	if p.spec.Arrivals == Bursty {
		w.bursts = newBursts(p.spec.Burst, rand.New(stream(p.spec.Seed, "bursts"+f.name)))
		w.enter(w.segment.start)
	}
	return w
}

// next returns the position of the next arrival within the piece, or false past
// the last one. It is not for offsets.
func (w *walk) next() (float64, bool) {
	var y float64
	if w.gaps != nil {
		w.base += w.gaps.ExpFloat64()
		y = w.base
	} else {
		y = w.base + w.nth
		w.nth++
	}
	if y < w.area {
		return y, true
	}
	return w.cross(y)
}

// cross carries a position that lies past the piece into the one that holds it.
func (w *walk) cross(y float64) (float64, bool) {
	for y >= w.area {
		y -= w.area
		if !w.advance() {
			return 0, false
		}
	}
	w.base, w.nth = y, 1
	return y, true
}

// advance goes to the next piece, or returns false at the last one.
func (w *walk) advance() bool {
	if w.bursts != nil && w.end < w.segment.start+w.segment.duration {
		w.enter(w.end)
		return true
	}
	if w.at+1 == len(w.flow.segments) {
		return false
	}
	w.at++
	w.segment = &w.flow.segments[w.at]
	w.area = w.segment.area
	if w.bursts != nil {
		w.enter(w.segment.start)
	}
	return true
}

// enter makes the piece that begins at an instant of the segment.
func (w *walk) enter(at time.Duration) {
	for w.bursts.until <= at {
		w.bursts.flip()
	}
	g := w.segment
	w.begin, w.end = at, min(g.start+g.duration, w.bursts.until)
	w.from = g.until(w.begin - g.start)
	w.factor = w.bursts.factor()
	w.area = w.factor * (g.until(w.end-g.start) - w.from)
}

// instant returns when position y of a piece of bursts is due.
func (w *walk) instant(y float64) time.Duration {
	return min(max(w.segment.at(w.from+y/w.factor), w.begin), w.end-1)
}
