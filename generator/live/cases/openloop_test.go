package cases

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"knee/generator/record"
)

// tries is how often a run whose times a busy machine can spoil is made.
const tries = 5

// The loop is open: a server that is 100 ms slower is sent the same requests, at the
// same instants, and as punctually.
func TestSlowServersAreSentTheSame(t *testing.T) {
	for _, engine := range plain() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			r := trip{rate: 200, length: 600 * time.Millisecond}
			var why string
			for range tries {
				var lag [2]record.Quantiles
				for i, slow := range []time.Duration{0, 100 * time.Millisecond} {
					s := startRogue(t, func(c *peer) {
						for {
							if _, ok := c.request(); !ok {
								return
							}
							time.Sleep(slow)
							if !c.answer(ok200) {
								return
							}
						}
					})
					o := r.run(t, s.url, engine)
					o.check(t, s, false)
					if o.tally.Good != 120 || o.fastest() < slow {
						t.Fatalf("a server %v slow: %s, the fastest in %v: want 120 good", slow, say(o.endings()), o.fastest())
					}
					lag[i] = o.step.Lag
					t.Logf("%v slow: lag p50 %v, p99 %v, max %v", slow, lag[i].P50, lag[i].P99, lag[i].Max)
				}
				// A loop that waited for answers would be late by a multiple of 100 ms.
				if lag[1].P50 <= lag[0].P50+10*time.Millisecond && lag[1].P99 <= lag[0].P99+50*time.Millisecond {
					return
				}
				why = fmt.Sprintf("lag p50 %v, p99 %v with a fast server, %v and %v with a slow one: want them alike", lag[0].P50, lag[0].P99, lag[1].P50, lag[1].P99)
			}
			t.Error(why)
		})
	}
}

// No second holds more of evenly spaced arrivals than it ought to, but when the
// generator was late, says so, and catches up.
func TestNoSecondHoldsTooMuch(t *testing.T) {
	for _, engine := range plain() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const rate = 200
			var most int
			for range tries { // until neither the server nor the machine has made requests late
				o, arrivals := againstNull(t, trip{rate: rate, length: 1500 * time.Millisecond}, engine)
				if o.tally.Good != rate*3/2 || len(arrivals) != rate*3/2 {
					t.Fatalf("ended as %s, the server saw %d: want %d", say(o.endings()), len(arrivals), rate*3/2)
				}
				most = mostWithin(arrivals, time.Second)
				t.Logf("%d requests within a second at most, lag max %v", most, o.step.Lag.Max)
				if most <= rate*105/100 || o.step.Lag.Max > 50*time.Millisecond {
					return
				}
			}
			t.Errorf("%d requests came within a second: want up to %d, as nothing was sent late", most, rate*105/100)
		})
	}
}

// mostWithin returns how many of the instants, in nanoseconds, lie within any
// stretch of time d.
func mostWithin(instants []int64, d time.Duration) (most int) {
	sorted := slices.Sorted(slices.Values(instants))
	first := 0
	for i, at := range sorted {
		for at-sorted[first] >= int64(d) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
