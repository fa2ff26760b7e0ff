package plan

import (
	"slices"
	"sort"
	"time"
)

// A flow is a part of the arrivals that has a rate of its own: the plan's, of
// which the classes have shares, or that of one class with phases of its own.
type flow struct {
	name     string // of its random streams, behind their purpose
	segments []segment
	sums     []float64       // for each segment, the expected arrivals before it
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
			own := segmentsOf(stepsOf(s.Seed, c.Phases))
			flows = append(flows, flow{name: " of class " + c.Name, segments: own, poisson: poisson, class: i})
		}
	}
	for i := range flows {
		flows[i].sumUp()
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
	return f.before(to) - f.before(from)
}

// before returns how many arrivals the flow expects before an instant.
func (f *flow) before(at time.Duration) float64 {
	if f.offsets != nil {
		i, _ := slices.BinarySearch(f.offsets, at)
		return float64(i)
	}
	i := sort.Search(len(f.segments), func(i int) bool { return f.segments[i].start > at }) - 1
	if i < 0 {
		return 0
	}
	return f.sums[i] + f.segments[i].until(at-f.segments[i].start)
}

// sumUp fills in sums.
func (f *flow) sumUp() {
	f.sums = make([]float64, len(f.segments))
	sum := 0.0
	for i := range f.segments {
		f.sums[i] = sum
		sum += f.segments[i].area
	}
}
