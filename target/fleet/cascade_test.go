package fleet_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/fault"
	"knee/target/fleet"
	"knee/target/protection"
	"knee/target/server"
)

// withoutWorkers is a fault that takes all workers away.
type withoutWorkers struct{ _ byte }

func (*withoutWorkers) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.Workers = 0
	return protection.Never
}

// cascade runs six servers of 10,000/s each, at 9,000/s each, and takes the
// workers of one away at 500ms. More than 1,000 waiting requests crash a server.
func cascade(t *testing.T, restart time.Duration, links ...server.Link) *run {
	t.Helper()
	l := servers("front", 6, 10, ms, links...)
	l.Balancer = balancer("random", "")
	l.Crash = fleet.Crash{AtQueue: 1000, Restart: restart}
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
	random := rand.New(rand.NewPCG(1, 2))
	lost := false
	for at := time.Duration(0); at < 4*time.Second; at += time.Duration(random.ExpFloat64() * float64(time.Second) / 54000) {
		if !lost && at > 500*ms {
			lost = true
			o.until(500 * ms)
			o.Inject(500*ms, 0, 0, &withoutWorkers{})
		}
		o.send(at, ms, 100*ms)
	}
	o.until(4 * time.Second)
	return o
}

// The loss of one of six servers at 9,000/s each leaves the others 1,800/s more,
// 10,800/s where 10,000/s can be done. Without a bound their queues grow by
// 800/s until one falls, and the others, that have its load as well, fall within
// moments. With a bound they shed and go on.
func TestCascade(t *testing.T) {
	o := cascade(t, 0)
	fell := what(o.events, fleet.Crashed)
	t.Logf("unprotected servers fall at %v", fell)
	if len(fell) != 6 || fell[0] < 600*ms || fell[0] > 630*ms { // 1,000 waiting after 111ms at 9,000/s
		t.Fatalf("servers fell at %v, want 6 of them, the first one at about 611ms", fell)
	}
	if fell[1] < 1200*ms || fell[1] > 2200*ms { // 1,000 / 800 s and chance
		t.Errorf("the second one fell at %v, want about 1.86s", fell[1])
	}
	for i := 2; i < len(fell); i++ {
		if gap := fell[i] - fell[i-1]; gap > 300*ms {
			t.Errorf("server %d fell %v after the one before, want soon", i, gap)
		}
	}
	if good := o.good(100*ms, 3*time.Second, 4*time.Second); good != 0 {
		t.Errorf("%d good in the end, want none", good)
	}

	o = cascade(t, 0, atMost(200))
	fell = what(o.events, fleet.Crashed)
	good := o.good(100*ms, 2*time.Second, 3*time.Second)
	t.Logf("protected servers fall at %v, %d good a second", fell, good)
	if len(fell) != 0 {
		t.Errorf("protected servers fell at %v, want none", fell)
	}
	// The one without workers holds 200 and refuses the rest: a sixth of the load.
	if good < 44500 || good > 45500 {
		t.Errorf("%d good a second, want 45,000: 9,000 at each of five", good)
	}
}
