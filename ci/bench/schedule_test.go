package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

// at10k returns n arrivals at 10,000/s, each late by what late says of it.
func at10k(n int, late func(i int) time.Duration) []int64 {
	at := make([]int64, n)
	for i := range at {
		at[i] = int64(time.Hour) + int64(i)*100_000 + int64(late(i))
	}
	slices.Sort(at)
	return at
}

func near(got, want, apart float64) bool { return math.Abs(got-want) <= apart }

func TestTiming(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for name, test := range map[string]struct {
		late  func(i int) time.Duration
		want  timing
		apart float64
	}{
		"on time":     {func(int) time.Duration { return 0 }, timing{}, 1e-9},
		"always late": {func(int) time.Duration { return 7 * ms }, timing{}, 1e-9},
		"warmed up before": {
			func(i int) time.Duration {
				if i < 64 {
					return -50 * ms
				}
				return 0
			},
			timing{},
			1e-9,
		},
		// In the middle of a tick of ten gaps is where the errors are least: none is
		// more than half a tick.
		"in ticks of 1ms": {
			func(i int) time.Duration { return time.Duration(9-i%10) * 100 * us },
			timing{P50: 250, P99: 450, P999: 450, Spread: 900, CV: 3},
			60,
		},
		"every other one 20us late": {
			func(i int) time.Duration { return time.Duration(i%2) * 20 * us },
			timing{P50: 10, P99: 10, P999: 10, Spread: 20, CV: 0.2},
			1e-2,
		},
		"a request left out in the middle": {
			func(i int) time.Duration { return time.Duration(i/5500) * 100 * us },
			timing{P50: 0, P99: 100, P999: 100, Spread: 100, CV: 0.0105},
			50,
		},
		"0.1% too slow": {
			func(i int) time.Duration { return time.Duration(i) * 100 }, // ns
			timing{P50: 225, P99: 445.5, P999: 449.5, Spread: 882}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := timingOf(at10k(10_000, test.late), 10_000)
			if !ok {
				t.Fatal("no timing")
			}
			w := test.want
			if !near(got.P50, w.P50, test.apart) || !near(got.P99, w.P99, test.apart) || !near(got.P999, w.P999, test.apart) ||
				!near(got.Spread, w.Spread, test.apart) || !near(got.CV, w.CV, 0.01) {
				t.Errorf("%+v: want %+v, up to %g", got, w, test.apart)
			}
		})
	}
	if got, ok := timingOf([]int64{1}, 10); ok {
		t.Errorf("one arrival has %+v: want no timing", got)
	}
}

func TestRate(t *testing.T) {
	for name, test := range map[string]struct {
		at   []int64
		want float64
	}{
		"as asked":        {at10k(10_000, func(int) time.Duration { return 0 }), 10_000},
		"a quarter of it": {at10k(2_500, func(int) time.Duration { return 0 }), 10_000},
		"half as fast":    {at10k(10_000, func(i int) time.Duration { return time.Duration(i) * 100_000 }), 5_000},
		"a pause at the start": {at10k(10_000, func(i int) time.Duration {
			if i < 1000 {
				return -time.Second
			}
			return 0
		}), 10_000},
		"at one moment": {[]int64{7, 7, 7}, 0},
		"one":           {[]int64{7}, 0},
		"nothing":       {nil, 0},
	} {
		if got := rateOf(test.at); !near(got, test.want, 1e-6*test.want) {
			t.Errorf("%s: %v/s: want %v/s", name, got, test.want)
		}
	}
}

func TestAchieved(t *testing.T) {
	onTime := func(int) time.Duration { return 0 }
	for name, test := range map[string]struct {
		at   []int64
		want float64
	}{
		"all":                 {at10k(10_000, onTime), 1},
		"more than asked":     {at10k(10_500, func(i int) time.Duration { return -time.Duration(i) * 5000 }), 1.05},
		"what comes too late": {at10k(10_500, onTime), 1},
		"one long before": {at10k(10_001, func(i int) time.Duration {
			if i == 0 {
				return -time.Second
			}
			return 0
		}), 1},
		"half of the time":       {at10k(5_000, onTime), 0.5},
		"half of the rate":       {at10k(10_000, func(i int) time.Duration { return time.Duration(i) * 100_000 }), 0.5},
		"one":                    {[]int64{5}, 0.0001},
		"nothing":                {nil, 0},
		"a pause of half a time": {at10k(10_000, func(i int) time.Duration { return time.Duration(i/5000) * time.Second / 2 }), 0.5},
	} {
		if got := achieved(test.at, 10_000, time.Second); !near(got, test.want, 1e-3) {
			t.Errorf("%s: %v: want %v", name, got, test.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{1, 2, 4, 8}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 1: 8, 1.0 / 6: 1.5, 5.0 / 6: 6} {
		if got := quantile(x, q); !near(got, want, 1e-9) {
			t.Errorf("quantile %v is %v: want %v", q, got, want)
		}
	}
	if got := quantile([]float64{3}, 0.99); got != 3 {
		t.Errorf("quantile of one value is %v: want the value", got)
	}
}

func TestSpread(t *testing.T) {
	if got, want := spreadOf([]float64{5, 1, 3}), (spread{Median: 3, Min: 1, Max: 5, N: 3}); got != want {
		t.Errorf("%+v: want %+v", got, want)
	}
	if got := spreadOf(nil); got != (spread{}) {
		t.Errorf("of nothing: %+v", got)
	}
	// Ratios are those of the same round: 2 in each of the two that have both.
	a, b := map[int]float64{0: 20, 1: 2, 2: 7}, map[int]float64{0: 10, 1: 1, 3: 5, 2: 0}
	if got, want := over(a, b), (spread{Median: 2, Min: 2, Max: 2, N: 2}); got != want {
		t.Errorf("ratios: %+v: want %+v", got, want)
	}
}
