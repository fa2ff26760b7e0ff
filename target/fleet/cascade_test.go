package fleet_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/fault"
	"knee/target/fleet"
	"knee/target/protection"
	"knee/target/server"
)

// withoutWorkers is a fault that takes all workers away: the server hangs.
type withoutWorkers struct{ _ byte }

func (*withoutWorkers) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.Workers = 0
	return protection.Never
}

// gone is a fault that takes the server away.
type gone struct{ _ byte }

func (*gone) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.Crashes++
	c.Down = true
	return protection.Never
}

// cascade runs six servers of 10,000/s each, at 9,000/s each, and has a fault
// befall the first one at 500ms. More than 1,000 waiting requests crash a server.
// It returns also how much more each of the others gets.
func cascade(t *testing.T, ft fault.Fault, links ...server.Link) (o *run, more float64) {
	t.Helper()
	l := servers("front", 6, 10, ms, links...)
	l.Balancer = balancer("random", "")
	l.Crash.AtQueue = 1000
	o = newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
	random := rand.New(rand.NewPCG(1, 2))
	requests := func() (n uint64) {
		for _, s := range o.Report().Layers[0].Servers[1:] {
			n += s.Requests
		}
		return n
	}
	var before, after uint64
	for at := time.Duration(0); at < 4*time.Second; at += time.Duration(random.ExpFloat64() * float64(time.Second) / 54000) {
		if before == 0 && at > 500*ms {
			before = requests()
			o.until(500 * ms)
			o.Inject(500*ms, 0, 0, ft)
			o.collect()
		}
		if after == 0 && at > time.Second {
			after = requests() - before
		}
		o.send(at, ms, 100*ms)
	}
	o.until(4 * time.Second)
	o.check(t)
	return o, float64(after)/float64(before) - 1
}

// The loss of one of six servers at 9,000/s each leaves the others 1,800/s more,
// a fifth, and 10,800/s is more than the 10,000/s that they can do. Without a
// bound their queues grow by 800/s until one falls, and the others, that have
// its load as well, fall within moments. With a bound they shed the surplus.
func TestCascade(t *testing.T) {
	o, more := cascade(t, &gone{})
	fell := what(o.events, fleet.Crashed)
	t.Logf("the others get %.3f more; unprotected they fall at %v", more, fell)
	if math.Abs(more-0.2) > 0.01 {
		t.Errorf("the others get %.3f more, want 0.2", more)
	}
	if len(fell) != 6 || fell[0] != 500*ms || fell[1] < 1500*ms || fell[1] > 2200*ms || fell[5]-fell[1] > 200*ms {
		t.Errorf("unprotected they fall at %v, want one at 500ms and the others 1,000/800s later", fell)
	}
	if good := o.good(100*ms, 3*time.Second, 4*time.Second); good != 0 {
		t.Errorf("unprotected %d good a second in the end, want none", good)
	}

	o, _ = cascade(t, &gone{}, atMost(200))
	fell = what(o.events, fleet.Crashed)
	good := o.good(100*ms, 2*time.Second, 3*time.Second)
	t.Logf("protected they fall at %v and do %d a second", fell, good)
	if len(fell) != 1 || good < 49900 || good > 50100 {
		t.Errorf("protected they fall at %v and do %d a second, want the lost one alone, and 50,000", fell, good)
	}
}

// A server that hangs does not refuse connections. It goes on getting its share,
// until its memory is full and it crashes; with a bound on its queue it never
// does, and refuses a sixth of the load for good.
func TestHangingIsWorseThanCrashing(t *testing.T) {
	o, _ := cascade(t, &withoutWorkers{})
	fell := what(o.events, fleet.Crashed)
	if len(fell) != 6 || fell[0] < 600*ms || fell[0] > 630*ms { // 1,000 wait after 111ms
		t.Errorf("servers fall at %v, want the first at about 611ms", fell)
	}
	o, _ = cascade(t, &withoutWorkers{}, atMost(200))
	if good := o.good(100*ms, 2*time.Second, 3*time.Second); good < 44500 || good > 45500 {
		t.Errorf("%d good a second, want 45,000", good)
	}
}

// What a server crashes with is lost: requests inside fail, attempts at the next
// layer are given up, and who comes finds the servers that are left.
func TestCrashLosesWhatIsInside(t *testing.T) {
	for _, async := range []bool{false, true} {
		front := servers("front", 2, 10, 10*ms)
		front.Hop.Async = async
		o := newRun(t, fleet.Spec{Layers: []fleet.Layer{front, servers("back", 1, 100, 100*ms)}})
		o.load(0, 50*ms, 200, 10*ms, 0) // ten requests, five at each
		ft := &gone{}
		o.Inject(55*ms, 0, 0, ft)
		o.collect()
		if len(o.ends) != 5 {
			t.Errorf("async %v: %d requests ended with the server, want 5", async, len(o.ends))
		}
		for _, e := range o.ends {
			if e.ok || e.Reason != "crash" || e.at != 55*ms {
				t.Errorf("async %v: a request ended with %+v", async, e)
			}
		}
		o.load(60*ms, 100*ms, 200, 10*ms, 0)
		o.Lift(100*ms, 0, 0, ft)
		o.load(100*ms, 150*ms, 200, 10*ms, 0)
		o.drain()
		o.check(t)
		o.until(time.Second)
		r := o.Report()
		first, back := r.Layers[0].Servers[0], r.Layers[1]
		if first.Lost != 5 || first.Crashes != 1 || !first.InService || first.Requests != 10 {
			t.Errorf("async %v: the server that crashed counts %+v", async, first)
		}
		if back.GaveUp == 0 || back.Unwanted != back.GaveUp || back.Served+back.GaveUp != back.Attempts {
			t.Errorf("async %v: the back counts %+v, want some attempts given up and served in vain", async, back)
		}
		if good := o.good(time.Second, 0, time.Second); good != 5+8+10 {
			t.Errorf("async %v: %d requests served, want 23", async, good)
		}
	}
}
