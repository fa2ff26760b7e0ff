package analysis

import (
	"cmp"
	"math"
	"slices"
	"time"

	"knee/generator/record"
)

// A Loop is what a load that rises and then falls makes of goodput, by offered
// load. Where the way down is below the way up, the server remembers the overload.
// That alone is no verdict: an unbounded queue makes as wide a loop while it works
// off what it holds, however slow the ramp, and is not metastable.
type Loop struct {
	Points []LoopPoint `json:"points"` // by offered load, ascending
	Area   float64     `json:"area"`   // between the two ways, as a share of goodput: their mean difference, 0 to 1
}

// LoopPoint is one offered load that both ways passed.
type LoopPoint struct {
	OfferedRPS float64 `json:"offered_rps"`
	UpRPS      float64 `json:"up_rps"`   // goodput on the way up
	DownRPS    float64 `json:"down_rps"` // and on the way down
}

// loopBins is how many parts a loop's range of loads is cut into.
const loopBins = 20

// loopOf returns the first loop of a run: a ramp up, and a ramp down later in the
// same trial; nil when there is none.
func loopOf(recorded []*record.Step, m Meta) *Loop {
	for i, up := range recorded {
		if up.Info.To <= up.Info.From || slices.Contains(m.SetAside, up.Info.Trial) {
			continue
		}
		for _, down := range recorded[i+1:] {
			if down.Info.Trial != up.Info.Trial {
				break
			}
			if down.Info.To < down.Info.From {
				return loop(up, down, m)
			}
		}
	}
	return nil
}

// loop puts the windows of two ramps side by side.
func loop(up, down *record.Step, m Meta) *Loop {
	low := max(up.Info.From, down.Info.To)
	high := min(up.Info.To, down.Info.From)
	if low >= high {
		return nil
	}
	type sums struct{ sent, good, seconds float64 }
	collect := func(s *record.Step) (bins [loopBins]sums) {
		n := int(m.lasted(s.Info) / record.Window)
		for k := range min(n, len(s.ByPlanned)) {
			middle := (time.Duration(k)*record.Window + record.Window/2).Seconds() / s.Info.Duration.Seconds()
			load := s.Info.From + (s.Info.To-s.Info.From)*middle
			bin := int(math.Floor((load - low) / (high - low) * loopBins))
			if bin < 0 || bin >= loopBins {
				continue
			}
			w := s.ByPlanned[k]
			bins[bin].sent += float64(w.Sent + w.Withheld)
			bins[bin].good += float64(w.Good)
			bins[bin].seconds += record.Window.Seconds()
		}
		return bins
	}
	ups, downs := collect(up), collect(down)
	l := &Loop{Points: []LoopPoint{}}
	sum := 0.0
	for i := range ups {
		u, d := ups[i], downs[i]
		if u.sent == 0 || d.sent == 0 {
			continue
		}
		l.Points = append(l.Points, LoopPoint{
			OfferedRPS: low + (high-low)*(float64(i)+0.5)/loopBins,
			UpRPS:      u.good / u.seconds,
			DownRPS:    d.good / d.seconds,
		})
		sum += u.good/u.sent - d.good/d.sent
	}
	if len(l.Points) == 0 {
		return nil
	}
	slices.SortFunc(l.Points, func(a, b LoopPoint) int { return cmp.Compare(a.OfferedRPS, b.OfferedRPS) })
	l.Area = sum / float64(len(l.Points))
	return l
}
