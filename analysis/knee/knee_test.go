package knee_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"knee/analysis/knee"
)

// TestGivenCurves runs the curves of testdata, whose knees are known.
func TestGivenCurves(t *testing.T) {
	b, err := os.ReadFile("testdata/curves.json")
	if err != nil {
		t.Fatal(err)
	}
	var curves []struct {
		Name     string
		Points   []struct{ Offered, Goodput, Intended float64 }
		Expected struct {
			Knee      *float64
			Verdict   string
			Tolerance float64
		}
	}
	if err := json.Unmarshal(b, &curves); err != nil {
		t.Fatal(err)
	}
	if len(curves) == 0 {
		t.Fatal("no curves")
	}
	for _, c := range curves {
		t.Run(c.Name, func(t *testing.T) {
			var points []knee.Point
			for _, p := range c.Points {
				points = append(points, knee.Point{Offered: p.Offered, Goodput: p.Goodput, Intended: p.Intended})
			}
			r := knee.Find(points, knee.Options{})
			if c.Expected.Knee == nil {
				if r.Verdict != c.Expected.Verdict || r.RPS != 0 {
					t.Errorf("got %+v, want %s", r, c.Expected.Verdict)
				}
				return
			}
			want := *c.Expected.Knee
			if r.Verdict != knee.Found || math.Abs(r.RPS-want) > c.Expected.Tolerance*want {
				t.Errorf("got %+v, want a knee at %g", r, want)
			}
		})
	}
}

func line(from, to, step float64, f func(float64) float64) []knee.Point {
	var points []knee.Point
	for l := from; l <= to; l += step {
		points = append(points, knee.Point{Offered: l, Goodput: f(l)})
	}
	return points
}

func self(l float64) float64 { return l }

func TestFlagsAndVerdicts(t *testing.T) {
	growing := line(100, 1500, 100, self)
	for i := range growing {
		growing[i].Growing = growing[i].Offered > 1000
	}
	cold := line(100, 1500, 100, func(l float64) float64 {
		if l == 100 {
			return 20
		}
		return min(l, 800)
	})
	limited := line(100, 1500, 100, self)
	for i := range limited {
		limited[i].Limited = limited[i].Offered > 900
		if limited[i].Limited {
			limited[i].Goodput = 100 // what the generator could not offer is no loss
		}
	}
	fewLeft := line(100, 200, 100, self)
	fewLeft = append(fewLeft, knee.Point{Offered: 200, Intended: 1000, Goodput: 200})
	scattered := line(100, 1000, 100, self)
	for i := range scattered {
		// 3 % fewer arrivals than intended are chance, with this many.
		scattered[i].Intended = scattered[i].Offered / 0.97
		scattered[i].Sent, scattered[i].Good = 1000, 1000
	}
	for name, c := range map[string]struct {
		points  []knee.Point
		verdict string
		flag    string
		low     float64
		high    float64
	}{
		"a backlog that grows is bad":     {growing, knee.Found, "", 950, 1100},
		"cold first load":                 {cold, knee.Found, knee.WarmUp, 790, 850},
		"cold, and no knee":               {cold[:8], knee.NoKnee, knee.WarmUp, 800, 800},
		"limited loads are no claim":      {limited, knee.GeneratorLimited, knee.Limited, 900, 900},
		"limited from the third on":       {fewLeft, knee.GeneratorLimited, knee.Limited, 200, 200},
		"scatter of arrivals is no limit": {scattered, knee.NoKnee, knee.Censored, 1000, 1000},
		"wide bracket":                    {line(100, 1500, 100, func(l float64) float64 { return min(l, 840) }), knee.Found, knee.Coarse, 800, 900},
	} {
		t.Run(name, func(t *testing.T) {
			r := knee.Find(c.points, knee.Options{})
			if r.Verdict != c.verdict || c.flag != "" && !slices.Contains(r.Flags, c.flag) {
				t.Errorf("got %+v, want %s with %q", r, c.verdict, c.flag)
			}
			at := r.RPS
			if at == 0 {
				at = r.Low
			}
			if at < c.low || at > c.high {
				t.Errorf("got %+v, want it in [%g, %g]", r, c.low, c.high)
			}
		})
	}
}

func TestEpsIsTheLossThatIsAllowed(t *testing.T) {
	// 3 % are lost from 500 on: a knee for an eps of 1 %, none for one of 5 %.
	points := line(100, 2000, 100, func(l float64) float64 {
		if l > 500 {
			return 0.97 * l
		}
		return l
	})
	if r := knee.Find(points, knee.Options{Eps: 0.05}); r.Verdict != knee.NoKnee {
		t.Errorf("eps 0.05: %+v", r)
	}
	if r := knee.Find(points, knee.Options{Eps: 0.01}); r.Verdict != knee.Found || r.RPS < 450 || r.RPS > 600 {
		t.Errorf("eps 0.01: %+v", r)
	}
}

func TestCountsBeatRates(t *testing.T) {
	points := line(100, 1500, 100, func(l float64) float64 { return min(l, 800) })
	for i := range points {
		p := &points[i]
		p.Sent = uint64(p.Offered * 10)
		p.Good = uint64(p.Goodput * 10)
		p.P99 = time.Millisecond
	}
	points[2].Goodput *= 0.9 // a rate by another clock
	if r := knee.Find(points, knee.Options{}); r.Verdict != knee.Found || math.Abs(r.RPS-800) > 1 {
		t.Errorf("got %+v, want 800", r)
	}
}

// TestNoise holds how often the knee of a noisy sweep is near the truth: each
// trial's capacity is lower by 3 % of a normal's size, and by a tenth to a half
// during bursts, which are a tenth of the time.
func TestNoise(t *testing.T) {
	rejecting := func(l, mu float64) float64 {
		if l <= mu {
			return l
		}
		return max(0, (mu-0.2*l)/0.8)
	}
	hinge := func(l, mu float64) float64 { return min(l, mu) }
	for name, c := range map[string]struct {
		f      func(l, mu float64) float64
		trials int
		bursts float64
		share  float64
	}{
		"hinge, one trial a load":            {hinge, 1, 0.04, 0.8},
		"hinge, one trial, no bursts":        {hinge, 1, 0, 0.97},
		"hinge, five trials a load":          {hinge, 5, 0.04, 0.95},
		"costly no, five trials a load":      {rejecting, 5, 0.04, 0.95},
		"hinge, three trials a load":         {hinge, 3, 0.04, 0.85},
		"costly no, one trial, no bursts":    {rejecting, 1, 0, 0.95},
		"costly no, three trials, no bursts": {rejecting, 3, 0, 0.97},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 300
			near := 0
			for seed := range runs {
				r := rand.New(rand.NewPCG(uint64(seed), 27))
				capacity := 300 + 2700*r.Float64()
				var loads []float64
				for l := capacity * (0.1 + 0.02*r.Float64()); l < 10.5*capacity; l *= 1.25 {
					for range c.trials {
						loads = append(loads, l)
					}
				}
				// Shuffled by passes, so that a burst meets different loads.
				r.Shuffle(len(loads), func(i, j int) { loads[i], loads[j] = loads[j], loads[i] })
				var points []knee.Point
				burst := false
				for _, l := range loads {
					if burst {
						burst = r.Float64() < 0.6
					} else {
						burst = r.Float64() < c.bursts
					}
					mu := capacity * (1 - 0.03*math.Abs(r.NormFloat64()))
					if burst {
						mu *= 0.5 + 0.4*r.Float64()
					}
					sent := l * 3 * (1 + r.NormFloat64()/math.Sqrt(l*3))
					ratio := c.f(l, mu) / l
					good := sent * ratio
					if ratio < 1 {
						good += r.NormFloat64() * math.Sqrt(sent*ratio*(1-ratio))
					}
					good = max(0, min(good, sent))
					points = append(points, knee.Point{
						Intended: l, Offered: sent / 3, Goodput: good / 3, Sent: uint64(sent), Good: uint64(good),
					})
				}
				if k := knee.Find(points, knee.Options{}); math.Abs(k.RPS-capacity) <= 0.1*capacity {
					near++
				}
			}
			if got := float64(near) / runs; got < c.share {
				t.Errorf("%.3f within 10 %%, want %.2f", got, c.share)
			} else {
				t.Logf("%.3f", got)
			}
		})
	}
}

func TestFalseKnee(t *testing.T) {
	// Never loaded above 0.8 of its capacity, a server has none.
	const runs = 300
	knees := 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		var points []knee.Point
		for l := 100.0; l <= 800; l *= 1.25 {
			for range 3 {
				mu := 1000 * (1 - 0.03*math.Abs(r.NormFloat64()))
				if r.Float64() < 0.09 {
					mu *= 0.5 + 0.4*r.Float64()
				}
				points = append(points, knee.Point{Offered: l, Goodput: min(l, mu)})
			}
		}
		if knee.Find(points, knee.Options{}).Verdict != knee.NoKnee {
			knees++
		}
	}
	if knees > runs*3/100 {
		t.Errorf("%d false knees in %d", knees, runs)
	}
}

func BenchmarkFind(b *testing.B) {
	points := line(10, 10000, 100, func(l float64) float64 { return min(l, 1000) })
	for b.Loop() {
		knee.Find(points, knee.Options{})
	}
}
