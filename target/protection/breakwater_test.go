package protection_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// credited is what became of the requests of callers that obey credits.
type credited struct {
	good, refused, withheld float64 // per second
	longest                 time.Duration
}

// obey offers Poisson arrivals of 40 callers to 10 workers of 500/s behind
// breakwater. A caller that has as many requests open as it has credits does not
// send; without obedience it always does. It looks at the second half.
func obey(t *testing.T, obedient bool, rate float64) credited {
	t.Helper()
	const clients, d = 40, 20 * time.Second
	c, err := server.New(server.Spec{
		Workers: 10, Service: 20 * ms,
		Order: func() (order.Order, error) {
			i, err := order.Registry.Lookup("fifo")
			if err != nil {
				return nil, err
			}
			return i.New(order.Setup{}, i.Knobs())
		},
		Chain: []server.Link{{Kind: "breakwater", New: func() (protection.Protection, error) { return must(t, "breakwater", nil), nil }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out credited
	var open, credits [clients]int
	for i := range credits {
		credits[i] = 1
	}
	second := 1 / (d / 2).Seconds()
	rng := rand.New(rand.NewPCG(1, 2))
	for at := 0.0; ; {
		at += rng.ExpFloat64() / rate
		now := time.Duration(at * float64(time.Second))
		if now > d {
			return out
		}
		count := func(x *float64) {
			if now >= d/2 {
				*x += second
			}
		}
		c.Advance(now)
		answered := func() {
			for _, e := range c.Effects() {
				open[e.R.Client]--
				credits[e.R.Client] = e.Answer.Credits
				if e.Kind == server.Refuse {
					count(&out.refused)
					continue
				}
				count(&out.good)
				if now >= d/2 {
					out.longest = max(out.longest, e.R.Started-e.R.Arrived)
				}
			}
		}
		answered()
		client := rng.Uint32N(clients)
		if obedient && open[client] >= credits[client] {
			count(&out.withheld)
			continue
		}
		open[client]++
		c.Arrive(now, &protection.Request{Client: client, Cost: 1, Work: time.Duration(20 * rng.ExpFloat64() * float64(ms)), Arrived: now, Deadline: protection.Never})
		answered()
	}
}

// TestBreakwaterHoldsCallersBack holds that callers who obey credits fill the
// server, and hold back the rest themselves; those who do not are refused by it.
func TestBreakwaterHoldsCallersBack(t *testing.T) {
	for _, times := range []float64{1.2, 3, 10} {
		got := obey(t, true, times*500)
		if got.good < 470 || got.refused > 0.1*got.good || got.withheld < (times-1)*400 {
			t.Errorf("at %v times capacity, obeying: %+v", times, got)
		}
		if got.longest > 150*ms {
			t.Errorf("at %v times capacity, obeying: a wait of %v with a target of 40ms", times, got.longest)
		}
		got = obey(t, false, times*500)
		if got.good < 470 || got.refused < (times-1)*400 || got.longest > 200*ms {
			t.Errorf("at %v times capacity, not obeying: %+v", times, got)
		}
	}
}
