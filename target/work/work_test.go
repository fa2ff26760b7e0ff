package work

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"knee/target/plugin"
)

const draws = 200_000

func sample(t *testing.T, s Spec, seed uint64) []time.Duration {
	t.Helper()
	d, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if d.Mean() != s.Mean {
		t.Fatalf("Mean() = %v, want the declared %v", d.Mean(), s.Mean)
	}
	r := rand.New(rand.NewPCG(seed, 7))
	xs := make([]time.Duration, draws)
	for i := range xs {
		if xs[i] = d.Draw(r); xs[i] < 1 {
			t.Fatalf("draw %d is %v, want at least 1ns", i, xs[i])
		}
	}
	return xs
}

// Each mean must lie within four standard errors, sd/sqrt(n), and each
// quantile hit the share below it within four binomial ones.
func TestMeanAndQuantiles(t *testing.T) {
	ln := math.Sqrt(math.Log(5)) // sigma of cv 2
	for name, c := range map[string]struct {
		spec Spec
		cv   float64                   // standard deviation over mean
		at   map[float64]time.Duration // share -> quantile
	}{
		"constant":          {Spec{Kind: "constant", Mean: 10 * time.Millisecond}, 0, nil},
		"exponential":       {Spec{Kind: "exponential", Mean: 10 * time.Millisecond}, 1, map[float64]time.Duration{0.5: 6931472, 0.99: 46051702}},
		"lognormal default": {Spec{Kind: "lognormal", Mean: 10 * time.Millisecond}, 1, map[float64]time.Duration{0.5: 7071068}},
		"lognormal cv 2": {Spec{Kind: "lognormal", Mean: 10 * time.Millisecond, CV: 2}, 2, map[float64]time.Duration{
			0.5:       4472136,
			0.8413447: time.Duration(1e7 / math.Sqrt(5) * math.Exp(ln)),
		}},
		"bimodal default": {Spec{Kind: "bimodal", Mean: time.Millisecond}, math.Sqrt(24.75), nil},
		"bimodal even":    {Spec{Kind: "bimodal", Mean: time.Millisecond, SlowShare: 0.5, SlowFactor: 3}, 0.5, nil},
		"pareto default": {Spec{Kind: "pareto", Mean: 10 * time.Millisecond}, math.Sqrt(1 / (2.5 * 0.5)), map[float64]time.Duration{
			0.5: time.Duration(6e6 * math.Pow(2, 0.4)), 0.99: time.Duration(6e6 * math.Pow(100, 0.4)),
		}},
		"pareto alpha 4": {Spec{Kind: "pareto", Mean: time.Second, Alpha: 4}, math.Sqrt(1.0 / 8), map[float64]time.Duration{
			0.9: time.Duration(0.75e9 * math.Pow(10, 0.25)),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			xs := sample(t, c.spec, 1)
			var sum float64
			for _, x := range xs {
				sum += float64(x)
			}
			mean := float64(c.spec.Mean)
			if got, bound := sum/draws, 4*c.cv*mean/math.Sqrt(draws)+0.01; math.Abs(got-mean) > bound {
				t.Errorf("mean of the draws is %.1f ns, want %.1f within %.1f", got, mean, bound)
			}
			for share, q := range c.at {
				below := 0
				for _, x := range xs {
					if x <= q {
						below++
					}
				}
				got, bound := float64(below)/draws, 4*math.Sqrt(share*(1-share)/draws)
				if math.Abs(got-share) > bound {
					t.Errorf("%.4f of the draws are at most %v, want %.4f within %.4f", got, q, share, bound)
				}
			}
		})
	}
}

func TestBimodalDefaultIsTheCacheOfTheBooks(t *testing.T) {
	xs := sample(t, Spec{Kind: "bimodal", Mean: time.Millisecond}, 3)
	seen := map[time.Duration]int{}
	for _, x := range xs {
		seen[x]++
	}
	slow := seen[50500*time.Microsecond]
	if len(seen) != 2 || seen[500*time.Microsecond]+slow != draws {
		t.Fatalf("draws are %v, want 500µs and 50.5ms only", seen)
	}
	if bound := 4 * math.Sqrt(draws*0.01*0.99); math.Abs(float64(slow)-0.01*draws) > bound {
		t.Errorf("%d slow draws, want %.0f within %.0f", slow, 0.01*draws, bound)
	}
}

func TestParetoTailIsCappedAtAYear(t *testing.T) {
	xs := sample(t, Spec{Kind: "pareto", Mean: time.Hour, Alpha: 1.0001}, 1)
	if got := slices.Max(xs); got > longest {
		t.Errorf("longest draw is %v, want at most %v", got, longest)
	}
	if span(math.Inf(1)) != longest || span(0) != 1 {
		t.Errorf("span(Inf), span(0) = %v, %v, want %v, 1ns", span(math.Inf(1)), span(0), longest)
	}
}

func TestSameSeedSameDraws(t *testing.T) {
	for _, kind := range Kinds() {
		s := Spec{Kind: kind, Mean: 3 * time.Millisecond}
		a, b, other := sample(t, s, 5), sample(t, s, 5), sample(t, s, 6)
		if !slices.Equal(a, b) {
			t.Errorf("%s: the same seed gives other draws", kind)
		}
		if kind != "constant" && slices.Equal(a, other) {
			t.Errorf("%s: another seed gives the same draws", kind)
		}
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	for name, c := range map[string]struct {
		spec  Spec
		knobs []string
	}{
		"empty":            {Spec{}, []string{"kind", "mean"}},
		"unknown kind":     {Spec{Kind: "normal", Mean: time.Second}, []string{"kind"}},
		"mean too short":   {Spec{Kind: "constant", Mean: 999}, []string{"mean"}},
		"mean too long":    {Spec{Kind: "constant", Mean: time.Hour + 1}, []string{"mean"}},
		"negative cv":      {Spec{Kind: "lognormal", Mean: time.Second, CV: -1}, []string{"cv"}},
		"nan cv":           {Spec{Kind: "lognormal", Mean: time.Second, CV: math.NaN()}, []string{"cv"}},
		"all slow":         {Spec{Kind: "bimodal", Mean: time.Second, SlowShare: 1, SlowFactor: 1}, []string{"slow_share", "slow_factor"}},
		"no mean at 1":     {Spec{Kind: "pareto", Mean: time.Second, Alpha: 1}, []string{"alpha"}},
		"infinite alpha":   {Spec{Kind: "pareto", Mean: time.Second, Alpha: math.Inf(1)}, []string{"alpha"}},
		"knob of another":  {Spec{Kind: "constant", Mean: time.Second, Alpha: 2, CV: 1}, []string{"cv", "alpha"}},
		"two at once":      {Spec{Kind: "pareto", Mean: -1, Alpha: 0.5}, []string{"mean", "alpha"}},
		"unknown and knob": {Spec{Kind: "x", Mean: time.Second, CV: -2}, []string{"kind", "cv"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := New(c.spec)
			if err == nil || d != nil {
				t.Fatalf("New = %v, %v, want an error alone", d, err)
			}
			var got []string
			for _, k := range plugin.KnobErrors(err) {
				got = append(got, k.Knob)
			}
			if !slices.Equal(got, c.knobs) {
				t.Errorf("faults in %v, want %v: %v", got, c.knobs, err)
			}
		})
	}
}

func TestErrorSaysWhatIsAllowed(t *testing.T) {
	_, err := New(Spec{Kind: "normal", Mean: time.Second})
	if want := `kind is "normal": want one of bimodal, constant, exponential, lognormal, pareto`; err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, kind := range Kinds() {
		b.Run(kind, func(b *testing.B) {
			d, err := New(Spec{Kind: kind, Mean: time.Millisecond})
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				d.Draw(r)
			}
		})
	}
}
