package server_test

import (
	"testing"
	"time"

	"knee/target/fault"
	"knee/target/protection"
	"knee/target/server"
)

// bent holds conditions until an instant, and then others.
type bent struct {
	until         time.Duration
	before, after func(*fault.Conditions)
}

func (f *bent) Bend(now time.Duration, c *fault.Conditions) time.Duration {
	if now < f.until {
		f.before(c)
		return f.until
	}
	f.after(c)
	return protection.Never
}

func factor(x float64) func(*fault.Conditions) {
	return func(c *fault.Conditions) { c.WorkFactor *= x }
}

func workers(n int) func(*fault.Conditions) {
	return func(c *fault.Conditions) { c.Workers = n }
}

func stall(c *fault.Conditions) { c.Stalled = true }

func healthy(*fault.Conditions) {}

func constantly(f func(*fault.Conditions)) *bent { return &bent{before: f, after: f} }

func TestWorkFactorReachesWorkInProgress(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1})
	c.Arrive(0, request(1, 0))
	c.Arrive(0, request(2, 0))
	slow := &bent{until: 40 * ms, before: factor(3), after: healthy}
	c.Inject(4*ms, slow)
	c.Advance(time.Second)
	wantEffects(
		t, c,
		told{server.Reply, 1, 22 * ms, ""}, // 4 ms done, 6 ms at three times as long
		told{server.Reply, 2, 44 * ms, ""}, // 18/3 = 6 ms done at 40 ms, 4 ms to go
	)
}

func TestStall(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 2})
	c.Arrive(0, request(1, 0))
	freeze := constantly(stall)
	c.Inject(5*ms, freeze)
	c.Arrive(6*ms, request(2, 6*ms)) // a worker is free, but takes nothing
	c.Advance(50 * ms)
	wantEffects(t, c)
	if g := c.Gauges(50 * ms); g.Running != 1 || g.Waiting != 1 {
		t.Errorf("%d run and %d wait, want 1 and 1", g.Running, g.Waiting)
	}
	if got := c.Next(); got != protection.Never {
		t.Errorf("a stalled server wants to be woken at %v", got)
	}
	c.Lift(60*ms, freeze)
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 1, 65 * ms, ""}, told{server.Reply, 2, 70 * ms, ""})
}

func TestWorkersLostAndFound(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 2})
	for id := range uint64(5) {
		c.Arrive(0, request(id, 0))
	}
	lost := &bent{until: 25 * ms, before: workers(1), after: workers(3)}
	c.Inject(5*ms, lost)
	if g := c.Gauges(5 * ms); g.CostRate != 100 {
		t.Errorf("cost rate %v/s, want 100/s of one worker", g.CostRate)
	}
	if g := c.Gauges(5 * ms); g.Running != 2 || g.Workers != 1 {
		t.Errorf("%d running on %d workers, want 2 on 1: a lost worker finishes its request", g.Running, g.Workers)
	}
	c.Advance(time.Second)
	wantEffects(
		t, c,
		told{server.Reply, 0, 10 * ms, ""},
		told{server.Reply, 1, 10 * ms, ""},
		told{server.Reply, 2, 20 * ms, ""},
		told{server.Reply, 3, 30 * ms, ""},
		told{server.Reply, 4, 35 * ms, ""}, // the workers found at 25 ms take it at once
	)
	c.Lift(time.Second, lost)
	if g := c.Gauges(time.Second); g.Workers != 2 {
		t.Errorf("%d workers after the fault, want 2", g.Workers)
	}
}

// TestOrderAtOneInstant has everything come at 10 ms: an end of work, a fault, an
// expiry and an arrival.
func TestOrderAtOneInstant(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, Chain: chainNamed("queue_bound:age=10ms")})
	c.Arrive(0, request(1, 0))
	c.Arrive(0, request(2, 0)) // expires at 10 ms, when the worker comes free
	c.Arrive(2*ms, request(3, 2*ms))
	c.Inject(5*ms, &bent{until: 10 * ms, before: healthy, after: workers(0)})
	c.Arrive(10*ms, request(4, 10*ms))
	wantEffects(
		t, c,
		told{server.Reply, 1, 10 * ms, ""},
		told{server.Refuse, 2, 10 * ms, protection.ReasonQueueAge},
	)
	if g := c.Gauges(10 * ms); g.Running != 1 || g.Waiting != 1 {
		t.Errorf("%d run and %d wait, want 3 to have started before the worker was lost, and 4 to wait", g.Running, g.Waiting)
	}
}

func TestConditionsOutOfRange(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1})
	c.Inject(0, constantly(func(c *fault.Conditions) { c.WorkFactor, c.Workers = -1, -3 }))
	c.Arrive(0, request(1, 0))
	if g := c.Gauges(0); g.Workers != 0 || g.Waiting != 1 {
		t.Errorf("got %+v, want no workers", g)
	}
	c.Inject(0, constantly(workers(1)))
	c.Advance(10 * ms)
	wantEffects(t, c, told{server.Reply, 1, 10 * ms, ""})
}

// creep never says when it changes next.
type creep struct{ n int }

func (f *creep) Bend(now time.Duration, _ *fault.Conditions) time.Duration {
	f.n++
	return now
}

func TestFaultThatStandsStill(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1})
	f := new(creep)
	c.Inject(0, f)
	c.Advance(10)
	if f.n != 11 {
		t.Errorf("asked %d times in 10 ns, want once at the start and once each nanosecond", f.n)
	}
}
