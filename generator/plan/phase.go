package plan

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// check adds the faults of p, which stands at the path at.
func (p Phase) check(f *faults, at string) {
	switch p.Kind {
	case Hold:
		f.rateOrZero(at+"rate", p.Rate)
		f.span(at+"for", p.For)
	case Spike:
		f.rate(at+"rate", p.Rate)
		f.span(at+"for", p.For)
	case Ramp:
		f.rateOrZero(at+"from", p.From)
		f.rateOrZero(at+"to", p.To)
		f.span(at+"for", p.For)
	case Sweep:
		f.rate(at+"from", p.From)
		f.rate(at+"to", p.To)
		if p.To < p.From {
			f.add(at+"to", p.To, fmt.Sprintf("at least the rate it starts from, %v", p.From))
		}
		if !(p.Ratio >= MinRatio && p.Ratio <= MaxRatio) {
			f.add(at+"ratio", p.Ratio, fmt.Sprintf("a factor from %v to %v", MinRatio, MaxRatio))
		}
		f.span(at+"hold", p.Hold)
		if p.Passes < 1 || p.Passes > MaxSteps {
			f.add(at+"passes", p.Passes, fmt.Sprintf("a number from 1 to %d", MaxSteps))
		}
	default:
		f.add(at+"kind", fmt.Sprintf("%q", p.Kind), "one of hold, ramp, spike, sweep")
		return
	}
	p.checkUnused(f, at)
}

// checkReplayed adds the faults of p as a phase of a replay.
func (p Phase) checkReplayed(f *faults, at string) {
	if p.Kind != Hold && p.Kind != Spike {
		f.add(at+"kind", fmt.Sprintf("%q", p.Kind), "hold or spike: a replay says how many arrive")
		return
	}
	if p.Rate != 0 {
		f.add(at+"rate", p.Rate, "nothing: a replay says how many arrive")
	}
	f.span(at+"for", p.For)
	p.checkUnused(f, at)
}

// uses lists the fields that a kind reads.
var uses = map[PhaseKind]string{
	Hold:  "rate for",
	Spike: "rate for",
	Ramp:  "from to for",
	Sweep: "from to ratio hold passes",
}

// checkUnused finds fields that are set and would be ignored.
func (p Phase) checkUnused(f *faults, at string) {
	used := map[string]bool{}
	for name := range strings.FieldsSeq(uses[p.Kind]) {
		used[name] = true
	}
	for _, field := range []struct {
		name string
		set  bool
		is   any
	}{
		{"rate", p.Rate != 0, p.Rate},
		{"from", p.From != 0, p.From},
		{"to", p.To != 0, p.To},
		{"for", p.For != 0, p.For},
		{"ratio", p.Ratio != 0, p.Ratio},
		{"hold", p.Hold != 0, p.Hold},
		{"passes", p.Passes != 0, p.Passes},
	} {
		if field.set && !used[field.name] {
			f.add(at+field.name, field.is, fmt.Sprintf("nothing: a %s does not use it", p.Kind))
		}
	}
}

func (f *faults) rate(field string, v float64) {
	if !(v >= MinRate && v <= MaxRate) {
		f.add(field, v, rates)
	}
}

func (f *faults) rateOrZero(field string, v float64) {
	if v != 0 && !(v >= MinRate && v <= MaxRate) {
		f.add(field, v, rates+", or 0")
	}
}

func (f *faults) span(field string, d time.Duration) {
	if d <= 0 || d > MaxDuration {
		f.add(field, d, fmt.Sprintf("a duration above 0, up to %v", MaxDuration))
	}
}

// size returns how many steps a valid phase yields, and how long it is. A
// phase that exceeds the bounds of a plan is cut just beyond them, so that
// nothing overflows.
func (p Phase) size() (steps int, d time.Duration) {
	if p.Kind != Sweep {
		return 1, p.For
	}
	loads := len(p.loads())
	if loads > MaxSteps/p.Passes {
		return MaxSteps + 1, MaxDuration
	}
	steps = loads * p.Passes
	if p.Hold > MaxDuration/time.Duration(steps) {
		return steps, MaxDuration + 1
	}
	return steps, p.Hold * time.Duration(steps)
}

// Bounds of the factor between two loads of a sweep.
const (
	MinRatio = 1.001
	MaxRatio = 1000
)

// loads returns the loads of one pass of a sweep in rising order: From times
// the powers of Ratio, and then exactly To. A power that misses To only by
// rounding is To.
func (p Phase) loads() []float64 {
	var loads []float64
	for k := 0; ; k++ {
		load := p.From * math.Pow(p.Ratio, float64(k))
		if load >= p.To*(1-1e-9) {
			return append(loads, p.To)
		}
		loads = append(loads, load)
	}
}
