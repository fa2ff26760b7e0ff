package protection_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/protection"
)

// mixed makes a request of one of four criticalities, equally often, and one of
// 10,000 clients.
func mixed(r *protection.Request, rng *rand.Rand) {
	r.Criticality, r.Client = levels[rng.IntN(4)], rng.Uint32N(10_000)
}

// TestDagorConverges holds that at twice the capacity, in the end, what the server
// can carry is let in, from the most important on. A bound behind it takes what
// comes in before that.
func TestDagorConverges(t *testing.T) {
	for _, knobs := range []map[string]any{
		{"window": 100 * ms},
		{"window": 100 * ms, "variant": "caladan", "beta": 0.002},
	} {
		dagor := must(t, "dagor", knobs)
		got := simulate(t, 4000, 40*time.Second, mixed, dagor, must(t, "queue_bound", map[string]any{"wait": 200 * ms}))
		if got.good < 1800 {
			t.Errorf("%v: %+v, want a goodput of nearly 2000/s", knobs, got)
		}
		if got.perSecond[protection.CriticalPlus] < 900 || got.perSecond[protection.Critical] < 750 || got.perSecond[protection.Sheddable] > 50 {
			t.Errorf("%v: %+v, want nearly all of the 1000/s of each of the two highest, and next to none of the lowest", knobs, got)
		}
	}
}
