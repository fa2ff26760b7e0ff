package plan

import (
	"math"
	"testing"
	"time"
)

func bursty(b Burst, phases ...Phase) Spec {
	s := one(phases...)
	s.Arrivals, s.Burst = Bursty, b
	return s
}

const ms = time.Millisecond

// Over many seeds, the mean number of arrivals in each of the steps is the
// integral of the rate: bursts begin in the middle of their life. One that
// began on would bring twice as many in the first step.
func TestBurstyMean(t *testing.T) {
	const seeds = 2000
	phases := []Phase{hold(1000, 100*ms), ramp(1000, 3000, 100*ms), ramp(3000, 0, 100*ms)}
	for name, b := range map[string]Burst{
		"exponential":      {On: 100 * ms, Off: 300 * ms},
		"fixed":            {On: 100 * ms, Off: 300 * ms, Fixed: true},
		"never quite idle": {On: 50 * ms, Off: 50 * ms, Idle: 0.4},
		"mostly on":        {On: 300 * ms, Off: 10 * ms, Fixed: true},
	} {
		t.Run(name, func(t *testing.T) {
			var sum, squares [3]float64
			for seed := range uint64(seeds) {
				s := bursty(b, phases...)
				s.Seed = seed
				p := mustNew(t, s)
				var n [3]float64
				for a := range p.All() {
					n[a.Step]++
				}
				if total := n[0] + n[1] + n[2]; uint64(total) != p.Count() || math.Abs(p.Expected()-450) > 1e-9 {
					t.Fatalf("Count() = %d, Expected() = %v, the walk has %v of 450", p.Count(), p.Expected(), total)
				}
				for i, v := range n {
					sum[i] += v
					squares[i] += v * v
				}
			}
			for i, want := range []float64{100, 200, 150} {
				mean := sum[i] / seeds
				spread := math.Sqrt((squares[i]/seeds - mean*mean) / seeds)
				if math.Abs(mean-want) > 4*spread || spread > 0.06*want {
					t.Errorf("step %d: %.1f arrivals on average, standard error %.2f, want %v", i, mean, spread, want)
				}
			}
		})
	}
}

// With fixed states of 100 ms and 300 ms the rate is four times the phase's for
// 100 ms of every 400 ms, and Idle of it otherwise.
func TestBurstsHaveTheirShape(t *testing.T) {
	for _, idle := range []float64{0, 0.2} {
		b := Burst{On: 100 * ms, Off: 300 * ms, Fixed: true, Idle: idle}
		if got, want := b.Peak(), 4-3*idle; math.Abs(got-want) > 1e-12 {
			t.Errorf("peak is %v times the rate, want %v", got, want)
		}
		// A millisecond holds 10 arrivals on average.
		var counts [4000]float64
		for a := range mustNew(t, bursty(b, hold(10000, 4*time.Second))).All() {
			counts[a.At/ms]++
		}
		inBurst, between := 0.0, 0.0
		busy := 0
		for _, n := range counts {
			if n > 20 {
				inBurst += n
				busy++
			} else {
				between += n
			}
		}
		if math.Abs(float64(busy)-1000) > 30 {
			t.Errorf("idle %v: %d of 4000 ms are dense, want a quarter", idle, busy)
		}
		if got := inBurst / float64(busy) / 10; math.Abs(got-b.Peak()) > 0.1 {
			t.Errorf("idle %v: %.2f times the rate in bursts, want %v", idle, got, b.Peak())
		}
		if got := between / float64(4000-busy) / 10; math.Abs(got-idle) > 0.1 {
			t.Errorf("idle %v: %.2f times the rate between bursts, want %v", idle, got, idle)
		}
	}
}

// The variance of an interrupted Poisson process grows with the length of its
// states: for exponential ones, in the long run, the ratio of variance to mean
// of the counts is 1 + 2 rate (Peak-1)² p/(1-p) … in our terms
// 1 + 2·rate·Off²/(On+Off) for Idle 0.
func TestBurstyDispersion(t *testing.T) {
	b := Burst{On: 20 * ms, Off: 60 * ms}
	const rate, windows = 200, 4000
	var counts [windows]float64
	for a := range mustNew(t, bursty(b, hold(rate, windows*4*time.Second))).All() {
		counts[a.At/(4*time.Second)]++
	}
	var mean, variance float64
	for _, n := range counts {
		mean += n / windows
	}
	for _, n := range counts {
		variance += (n - mean) * (n - mean) / (windows - 1)
	}
	want := 1 + 2*rate*b.Off.Seconds()*b.Off.Seconds()/(b.On+b.Off).Seconds()
	// The standard error of a variance is sqrt(2/n) of it; a window of 200
	// relaxation times of the process (15 ms) cuts off half a percent.
	if got := variance / mean; math.Abs(got-want) > 0.1*want {
		t.Errorf("variance is %.2f times the mean, want %.2f", got, want)
	}
}

func TestBurstFaults(t *testing.T) {
	for name, c := range map[string]struct {
		burst Burst
		want  string // field
	}{
		"on left out":      {Burst{Off: ms}, "burst.on"},
		"off too short":    {Burst{On: ms, Off: ms - 1}, "burst.off"},
		"off too long":     {Burst{On: ms, Off: MaxDuration + 1}, "burst.off"},
		"idle is on":       {Burst{On: ms, Off: ms, Idle: 1}, "burst.idle"},
		"idle below 0":     {Burst{On: ms, Off: ms, Idle: -0.1}, "burst.idle"},
		"idle nan":         {Burst{On: ms, Off: ms, Idle: math.NaN()}, "burst.idle"},
		"bursts too dense": {Burst{On: ms, Off: 1000 * ms}, "burst.off"},
		"dense":            {Burst{On: ms, Off: 999 * ms}, ""},
	} {
		s := bursty(c.burst, hold(1, time.Second))
		err := s.Validate()
		got := ""
		if all := FieldErrors(err); len(all) == 1 {
			got = all[0].Field
		}
		if got != c.want {
			t.Errorf("%s: fault in %q, want %q: %v", name, got, c.want, err)
		}
	}
}
