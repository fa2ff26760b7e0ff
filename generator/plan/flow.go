package plan

import (
	"slices"
	"time"
)

// A flow is a part of the arrivals that has a rate of its own: the plan's, of
// which the classes have shares, or that of one class with phases of its own.
type flow struct {
	name     string // of its random streams, behind their purpose
	segments []segment
	offsets  []time.Duration // of a replay, sorted; nil when segments say when arrivals come
	poisson  bool            // exponential gaps, not equal ones
	picks    []uint64        // see picksOf; nil when all are of one class
	class    int             // that class
}

// flowsOf returns the flows of a valid spec, the plan's first.
func flowsOf(s *Spec, steps []Step) []flow {
	poisson := s.Arrivals == Poisson || s.Arrivals == Bursty
	var flows []flow
	if main := slices.IndexFunc(s.Classes, shared); main >= 0 {
		f := flow{poisson: poisson, class: main}
		if len(s.Classes) > 1 {
			f.picks = picksOf(s.Classes)
		}
		switch {
		case s.Arrivals == Replayed && len(s.Replay.Counts) > 0:
			f.segments = s.Replay.segments()
		case s.Arrivals == Replayed:
			f.offsets = slices.Sorted(slices.Values(s.Replay.Offsets))
		default:
			f.segments = segmentsOf(steps)
		}
		flows = append(flows, f)
	}
	for i, c := range s.Classes {
		if !shared(c) {
			own := stepsOf(s.Seed, c.Phases, " of class "+c.Name)
			flows = append(flows, flow{name: " of class " + c.Name, segments: segmentsOf(own), poisson: poisson, class: i})
		}
	}
	return flows
}

// shared reports whether c has a share of the plan's phases.
func shared(c Class) bool { return c.Phases == nil }

func segmentsOf(steps []Step) []segment {
	segments := make([]segment, len(steps))
	for i, s := range steps {
		segments[i] = segmentOf(s.Start, s.Duration, s.From, s.To)
	}
	return segments
}

// expected returns how many arrivals the flow expects between two instants.
func (f *flow) expected(from, to time.Duration) float64 {
	if f.offsets != nil {
		i, _ := slices.BinarySearch(f.offsets, from)
		j, _ := slices.BinarySearch(f.offsets, to)
		return float64(j - i)
	}
	var sum float64
	for i := range f.segments {
		g := &f.segments[i]
		a, b := max(from-g.start, 0), min(to-g.start, g.duration)
		if a < b {
			sum += g.until(b) - g.until(a)
		}
	}
	return sum
}
