package protection

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newTestGradient(t *testing.T, change func(*gradientKnobs)) *gradient {
	t.Helper()
	i, err := Registry.Lookup("gradient")
	if err != nil {
		t.Fatal(err)
	}
	k := i.Knobs().(*gradientKnobs)
	if change != nil {
		change(k)
	}
	p, err := i.New(Setup{Workers: 10, Service: 10 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 2))}, k)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*gradient)
}

// serve ends n requests that arrived at an instant and took so long.
func (g *gradient) serve(n int, arrived, rtt time.Duration) {
	for range n {
		g.Leave(arrived+rtt, &Request{Arrived: arrived}, End{Waited: rtt / 2, Served: rtt - rtt/2})
	}
}

// TestGradientLimits holds the series of limits, one for each window.
func TestGradientLimits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		buffer float64
		from   int
		minRTT time.Duration
		sample time.Duration
		want   []int
	}{
		{"twice the time without load", 0.1, 100, 10 * time.Millisecond, 20 * time.Millisecond, []int{62}},
		{"gradient 1", 0.1, 100, 10 * time.Millisecond, 11 * time.Millisecond, []int{110, 120, 130, 141, 152, 164, 176, 189, 202, 216, 230}},
		{"gradient 1 from 62", 0.1, 62, 10 * time.Millisecond, 11 * time.Millisecond, []int{69}},
		{"gradient 1 from 65", 0.1, 65, 10 * time.Millisecond, 11 * time.Millisecond, []int{73}},
		{"as fast as without load, default buffer", 0.25, 3, 10 * time.Millisecond, 10 * time.Millisecond, []int{5, 8, 13, 20, 30, 43, 61, 84, 115, 155, 207, 274}},
		{"four times the time without load", 0.25, 100, 10 * time.Millisecond, 40 * time.Millisecond, []int{57, 33, 20, 13, 9, 6, 4, 3, 3}},
		{"a hundred times: the gradient is no less than a half", 0.25, 100, 10 * time.Millisecond, time.Second, []int{57}},
		{"no time at all: the gradient is no more than 2", 0.25, 100, 10 * time.Millisecond, 0, []int{214}},
		{"no more than the highest", 0.25, 900, 10 * time.Millisecond, 10 * time.Millisecond, []int{1000, 1000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newTestGradient(t, func(k *gradientKnobs) { k.Buffer, k.FixedMinRTT = tt.buffer, tt.minRTT })
			next := g.Tick(0, Load{})
			g.limit = tt.from
			var got []int
			for range tt.want {
				for range 7 {
					g.Leave(next, &Request{}, End{Waited: tt.sample / 2, Served: tt.sample / 2})
				}
				if at := g.Tick(next, Load{}); at != next+100*time.Millisecond {
					t.Fatalf("wants the next limit at %v, want it a window later than %v", at, next)
				}
				got = append(got, g.Limit())
				next += 100 * time.Millisecond
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("limits %v, want %v", got, tt.want)
			}
		})
	}
}

// TestGradientLongSeries holds the 40th limit of gradient 1: what is rounded down
// is what the next one comes from.
func TestGradientLongSeries(t *testing.T) {
	g := newTestGradient(t, func(k *gradientKnobs) { k.Buffer, k.FixedMinRTT = 0.1, 10*time.Millisecond })
	g.limit = 100
	for range 40 {
		g.limit = g.next(11 * time.Millisecond)
	}
	if g.limit != 852 {
		t.Errorf("limit %d after 40 windows, want 852", g.limit)
	}
}

func TestGradientJitter(t *testing.T) {
	for _, tt := range []struct {
		interval time.Duration
		share    float64
		random   uint64
		want     time.Duration
	}{
		{100 * time.Second, 0.1, 15_000, 105 * time.Second},
		{100 * time.Second, 0.1, 9_999, 100*time.Second + 9_999*time.Millisecond},
		{100 * time.Second, 0.1, 10_000, 100 * time.Second},
		{100 * time.Second, 0, 15_000, 100 * time.Second},
		{time.Millisecond, 0.1, 15_000, time.Millisecond},
	} {
		if got := jittered(tt.interval, tt.share, tt.random); got != tt.want {
			t.Errorf("jittered(%v, %v, %d) = %v, want %v", tt.interval, tt.share, tt.random, got, tt.want)
		}
	}
}

// TestGradientMeasurement holds what happens from the start to the end of a
// measurement, and when the next one is due.
func TestGradientMeasurement(t *testing.T) {
	g := newTestGradient(t, func(k *gradientKnobs) { k.MinLimit, k.Jitter = 40, 0 })
	g.Tick(time.Second, Load{})
	for admitted, want := range map[int]Reason{0: "", 2: "", 3: ReasonGradient, 40: ReasonGradient} {
		if got := g.Admit(time.Second, &Request{}, Load{Admitted: admitted}); got != want {
			t.Errorf("with %d inside in the first measurement: %q, want %q", admitted, got, want)
		}
	}
	g.serve(49, time.Second, 10*time.Millisecond)
	g.serve(100, time.Second-1, time.Second) // arrived before the measurement
	for _, o := range []Outcome{Dropped, Failed} {
		g.Leave(2*time.Second, &Request{Arrived: time.Second}, End{Outcome: o, Served: time.Millisecond})
	}
	if g.Tick(3*time.Second, Load{}); g.Limit() != 3 {
		t.Fatalf("limit %d after 49 samples, want 3", g.Limit())
	}
	g.serve(1, 3*time.Second, 500*time.Millisecond)
	if g.Limit() != 40 || g.minRTT > 10*time.Millisecond*33/32 || g.minRTT < 10*time.Millisecond {
		t.Fatalf("limit %d and minRTT %v after 50 samples, want 40 and 10ms", g.Limit(), g.minRTT)
	}
	end := 3500 * time.Millisecond
	g.serve(5, end-10*time.Millisecond, 10*time.Millisecond)
	if next := g.Tick(end, Load{}); next != end+100*time.Millisecond || g.Limit() != 40 {
		t.Errorf("limit %d and next look at %v, want 40 until a window after the measurement", g.Limit(), next)
	}
	if g.Tick(end+99*time.Millisecond, Load{}); g.Limit() != 40 {
		t.Errorf("limit %d before the window is over, want 40", g.Limit())
	}
	if g.Tick(end+100*time.Millisecond, Load{}); g.Limit() <= 50 {
		t.Errorf("limit %d after a window as fast as without load, want above 50", g.Limit())
	}
	was := g.Limit()
	if next := g.Tick(end+time.Minute-1, Load{}); g.Limit() != was || next != end+time.Minute {
		t.Errorf("limit %d and next look at %v after a window without samples, want %d and %v", g.Limit(), next, was, end+time.Minute)
	}
	g.serve(40, end+time.Second, 10*time.Millisecond) // before the measurement
	if g.Tick(end+time.Minute, Load{}); g.Limit() != 3 {
		t.Errorf("limit %d a minute after the measurement, want 3", g.Limit())
	}
	g.serve(49, end+time.Minute, 20*time.Millisecond)
	if g.Limit() != 3 {
		t.Errorf("limit %d after 49 samples of the second measurement, want 3", g.Limit())
	}
	g.serve(1, end+time.Minute, 20*time.Millisecond)
	if g.Limit() != was || g.minRTT < 20*time.Millisecond {
		t.Errorf("limit %d and minRTT %v after the second measurement, want %d and 20ms", g.Limit(), g.minRTT, was)
	}
}

// TestGradientMeasuresAgainAtTheLowest holds that minRTT is measured at once when
// five limits in a row, and that before them, were the lowest.
func TestGradientMeasuresAgainAtTheLowest(t *testing.T) {
	for _, fixed := range []time.Duration{0, 10 * time.Millisecond} {
		g := newTestGradient(t, func(k *gradientKnobs) { k.MinLimit, k.FixedMinRTT = 30, fixed })
		now := g.Tick(0, Load{})
		if fixed == 0 {
			g.serve(50, 0, 10*time.Millisecond)
		}
		window := func(rtt time.Duration) int {
			g.serve(3, now, rtt)
			now = g.Tick(now+100*time.Millisecond, Load{})
			return g.Limit()
		}
		for range 4 {
			window(40 * time.Millisecond)
		}
		if window(10*time.Millisecond) == 30 {
			t.Fatal("the limit did not rise, so this says little")
		}
		for g.Limit() > 30 {
			window(40 * time.Millisecond)
		}
		for i := range 4 {
			if got := window(40 * time.Millisecond); got != 30 {
				t.Errorf("limit %d after %d at the lowest, want 30", got, i+1)
			}
		}
		want := 3
		if fixed > 0 {
			want = 30
		}
		if got := window(40 * time.Millisecond); got != want {
			t.Errorf("fixed at %v: limit %d after five at the lowest, want %d", fixed, got, want)
		}
	}
}

// TestRTTWindow holds that a quantile is that of the sorted samples, to 1/32.
func TestRTTWindow(t *testing.T) {
	var w rttWindow
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64), 1, 100).Draw(t, "samples")
		quantile := rapid.Float64Range(0.001, 1).Draw(t, "quantile")
		for _, s := range samples {
			w.add(time.Duration(s))
		}
		slices.Sort(samples)
		want := float64(samples[int(math.Ceil(quantile*float64(len(samples))))-1])
		if got := float64(w.take(quantile)); got < want || got > want*(1+1.0/32) {
			t.Fatalf("quantile %v is %v, want %v to %v", quantile, got, want, want*(1+1.0/32))
		}
		if w.n != 0 || w.max != 0 {
			t.Fatal("the window is not empty after it was taken")
		}
	})
}
