package server_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// TestShedding offers random work at 1.2 to 10 times the capacity of 2,000/s for 12 s,
// to callers that wait 1 s, and holds which share of the capacity is good from the
// seventh second on. The protections that shed by what waits keep nearly all of it;
// the stock CoDel of RFC 8289 does not, and random fills nine tenths, as it is told.
func TestShedding(t *testing.T) {
	const capacity = 2000
	for _, tt := range []struct {
		chain string
		least [3]float64 // at 1.2, 2 and 10 times
		most  [3]float64
	}{
		{"queue_bound:wait=100ms", [3]float64{0.98, 0.98, 0.98}, [3]float64{1.02, 1.02, 1.02}},
		{"queue_bound:count_from=100ms", [3]float64{0.98, 0.98, 0.98}, [3]float64{1.02, 1.02, 1.02}},
		{"queue_bound:age=100ms", [3]float64{0.98, 0.98, 0.98}, [3]float64{1.02, 1.02, 1.02}},
		{"codel:variant=folly", [3]float64{0.98, 0.98, 0.98}, [3]float64{1.02, 1.02, 1.02}},
		{"codel:variant=maurer", [3]float64{0.97, 0.97, 0.97}, [3]float64{1.02, 1.02, 1.02}},
		{"codel", [3]float64{0.9, 0, 0}, [3]float64{1.02, 0.01, 0.01}},
		{"red:min=50,max=150,weight=0.02", [3]float64{0.95, 0.95, 0.9}, [3]float64{1.02, 1.02, 1.02}},
		{"pid", [3]float64{0.97, 0.97, 0.97}, [3]float64{1.02, 1.02, 1.02}},
		{"random", [3]float64{0.85, 0.85, 0.8}, [3]float64{0.92, 0.92, 0.92}}, // it fills nine tenths
		{"rate:rate=2000", [3]float64{0.95, 0.95, 0.95}, [3]float64{1.02, 1.02, 1.02}},
	} {
		t.Run(tt.chain, func(t *testing.T) {
			t.Parallel()
			for i, times := range []float64{1.2, 2, 10} {
				setup := setup
				setup.Rand = rand.New(rand.NewPCG(7, uint64(i)))
				got := drive(t, server.Spec{Workers: 100, Service: 50 * ms, Order: orderNamed("fifo"), Chain: chainFor(setup, tt.chain)},
					time.Second, poisson(times*capacity, 12*time.Second, exponential(50*ms)))
				good := 0.0
				for s := 7; s < min(12, len(got.goodBySecond)); s++ {
					good += float64(got.goodBySecond[s]) / 5 / capacity
				}
				if good < tt.least[i] || good > tt.most[i] {
					t.Errorf("at %v times capacity %.3f of it is good, want %v to %v", times, good, tt.least[i], tt.most[i])
				}
			}
		})
	}
}

// TestCountsAreEmptyAfterwards has requests of two tenants leave the queue in all ways
// that a server knows, and then offers one that only an empty queue takes.
func TestCountsAreEmptyAfterwards(t *testing.T) {
	c := newCore(t, server.Spec{
		Workers: 2,
		Chain:   chainNamed("codel:variant=folly", "queue_bound:bytes=100,tenant_count=5", "deadline:allowance=p95", "codel:interval=20ms,target=1ms", "limit:limit=7"),
	})
	rng := rand.New(rand.NewPCG(1, 1))
	var now time.Duration
	var id uint64
	arrive := func(tenant string, bytes int64) *protection.Request {
		id++
		r := request(id, now)
		r.Tenant, r.Bytes, r.Work, r.Deadline = tenant, bytes, time.Duration(rng.IntN(int(20*ms))), now+time.Duration(rng.IntN(int(60*ms)))
		c.Arrive(now, r)
		return r
	}
	for i := range 20_000 {
		now += time.Duration(rng.IntN(int(4 * ms)))
		r := arrive([]string{"a", "b"}[rng.IntN(2)], int64(rng.IntN(40)))
		if i%7 == 0 {
			c.Release(now, r, "closed")
		}
	}
	now += time.Second
	c.Advance(now)
	c.Effects()
	n := c.Counts()
	for _, reason := range []protection.Reason{protection.ReasonQueueBytes, protection.ReasonTenantQueue, protection.ReasonLimit} {
		if n.Refused[string(reason)] == 0 {
			t.Errorf("nothing was refused for %s: %v", reason, n.Refused)
		}
	}
	for _, reason := range []protection.Reason{protection.ReasonExpired, protection.ReasonCodel, "closed"} {
		if n.Dropped[string(reason)] == 0 {
			t.Errorf("nothing was dropped for %s: %v", reason, n.Dropped)
		}
	}
	arrive("a", 1000)
	if got := c.Counts().Refused[string(protection.ReasonQueueBytes)]; got != n.Refused[string(protection.ReasonQueueBytes)] {
		t.Error("the queue is empty, and its bytes are not")
	}
	now += time.Second
	c.Advance(now)
	for range 7 { // two run, five wait
		arrive("a", 1)
	}
	if got := c.Counts().Refused[string(protection.ReasonTenantQueue)]; got != n.Refused[string(protection.ReasonTenantQueue)] {
		t.Error("the queue is empty, and its tenant has something waiting")
	}
}
