package client

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	const half = 0.5
	for _, c := range []struct {
		name   string
		jitter string
		u      float64
		want   []float64 // in milliseconds
	}{
		{"none", jitterNone, half, []float64{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000}},
		{"full", jitterFull, half, []float64{50, 100, 200, 400, 800, 1600, 3200, 5000, 5000}},
		{"equal", jitterEqual, half, []float64{75, 150, 300, 600, 1200, 2400, 4800, 7500, 7500}},
		{"decorrelated", jitterDecorrelated, half, []float64{200, 350, 575, 912.5, 1418.75, 2178.125, 3317.1875}},
		{"decorrelated, longest", jitterDecorrelated, 1, []float64{300, 900, 2700, 8100, 10000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Backoff{Base: 100 * ms, Cap: 10 * time.Second, Jitter: c.jitter}
			before := time.Duration(0)
			for i, want := range c.want {
				before = b.Wait(i, before, c.u)
				if got := float64(before) / float64(ms); got != want {
					t.Errorf("repetition %d: %v ms, want %v", i, got, want)
				}
			}
		})
	}
}

// No wait is below 0, above the cap, or longer than what longest says, however
// many repetitions there are.
func TestBackoffStaysInItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			Base:   time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base")),
			Jitter: rapid.SampledFrom([]string{jitterNone, jitterFull, jitterEqual, jitterDecorrelated}).Draw(t, "jitter"),
		}
		b.Cap = b.Base + time.Duration(rapid.Int64Range(0, int64(23*time.Hour)).Draw(t, "cap"))
		if err := b.check(); err != nil {
			t.Fatal(err)
		}
		var wait, most time.Duration
		for i := range 100 {
			wait, most = b.Wait(i, wait, rapid.Float64Range(0, 0.999).Draw(t, "u")), b.longest(i, most)
			if wait < 0 || wait > b.Cap || wait > most {
				t.Fatalf("wait %d is %v: want 0 to %v, at most %v", i, wait, b.Cap, most)
			}
		}
	})
}
