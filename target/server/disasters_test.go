package server_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"knee/target/fault"
	"knee/target/protection"
	"knee/target/server"
)

func crashed(c *fault.Conditions) { c.Crashes++; c.Down = true }

func restarted(c *fault.Conditions) { c.Crashes++ }

func TestCrashLosesEverythingInside(t *testing.T) {
	p := new(open)
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(p)}})
	c.Arrive(0, request(1, 0)) // runs
	c.Arrive(0, request(2, 0)) // waits
	held := request(3, 0)
	c.Admit(0, held)
	c.Inject(4*ms, &bent{until: 50 * ms, before: crashed, after: restarted})
	got := effects(c)
	slices.SortFunc(got, func(a, b told) int { return int(a.id) - int(b.id) })
	if want := []told{{server.Sever, 1, 4 * ms, "crash"}, {server.Sever, 2, 4 * ms, "crash"}, {server.Sever, 3, 4 * ms, "crash"}}; !slices.Equal(got, want) {
		t.Errorf("the crash ended %v, want %v", got, want)
	}
	if len(p.left) != 3 {
		t.Errorf("%d left the protection, want 3", len(p.left))
	}
	c.Arrive(10*ms, request(4, 10*ms))
	wantEffects(t, c, told{server.Sever, 4, 10 * ms, "down"})
	c.Arrive(60*ms, request(5, 60*ms))
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 5, 70 * ms, ""})
	if n := c.Counts(); n.Arrived != 5 || n.Served != 1 || n.Failed != 4 || n.FailedBy["crash"] != 3 || n.FailedBy["down"] != 1 {
		t.Errorf("counts %+v", n)
	}
	c.Enqueue(time.Second, held) // its shell learns late of the crash
	if effects(c) != nil {
		t.Error("a request that the crash lost came back")
	}
}

func TestCrashForgetsWhatWasLearned(t *testing.T) {
	built := 0
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{{Kind: "counted", New: func() (protection.Protection, error) {
		built++
		return new(open), nil
	}}}})
	before := built
	c.Inject(0, constantly(restarted))
	if built != before+1 {
		t.Errorf("the chain was built %d times more, want once", built-before)
	}
}

func TestPauseKeepsArrivalsOutside(t *testing.T) {
	chain := []server.Link{linkTo(new(shut))}
	c := newCore(t, server.Spec{Workers: 1, Chain: chain})
	c.Arrive(0, request(1, 0))
	frozen := constantly(func(c *fault.Conditions) { c.Paused = true })
	c.Inject(5*ms, frozen)
	c.Arrive(6*ms, request(2, 6*ms)) // would be refused
	c.Arrive(7*ms, request(3, 7*ms))
	c.Advance(20 * ms)
	wantEffects(t, c)
	if n := c.Counts(); n.Arrived != 1 {
		t.Errorf("%d have arrived during the pause, want none but the first", n.Arrived)
	}
	c.Lift(25*ms, frozen)
	c.Advance(time.Second)
	wantEffects(
		t, c,
		told{server.Refuse, 2, 25 * ms, "even"},
		told{server.Reply, 1, 30 * ms, ""}, // 5 ms were done before the pause
		told{server.Reply, 3, 40 * ms, ""},
	)
}

// touched treats every request alike.
type touched struct {
	bent
	by fault.Treatment
}

func (f *touched) Treat(_ time.Duration, _ *protection.Request, t *fault.Treatment) {
	if f.by.Work == 0 {
		f.by.Work = t.Work
	}
	*t = f.by
}

func touch(by fault.Treatment) *touched {
	return &touched{bent: bent{before: healthy, after: healthy}, by: by}
}

func TestFailedWorkTakesItsTime(t *testing.T) {
	p := new(open)
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(p)}})
	f := touch(fault.Treatment{Fail: "fault"})
	c.Inject(0, f)
	c.Arrive(0, request(1, 0))
	c.Advance(50 * ms)
	wantEffects(t, c, told{server.Fail, 1, 10 * ms, "fault"})
	c.Lift(50*ms, f)
	c.Arrive(50*ms, request(2, 50*ms))
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 2, 60 * ms, ""})
	if n := c.Counts(); n.Failed != 1 || n.FailedBy["fault"] != 1 || n.Served != 1 {
		t.Errorf("counts %+v", n)
	}
}

func TestFailedWorkOutside(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, External: true})
	c.Inject(0, touch(fault.Treatment{Fail: "fault", Work: 30 * ms}))
	r := request(1, 0)
	c.Arrive(0, r)
	if e := c.Effects(); len(e) != 1 || e[0].Kind != server.Start || e[0].Work != 30*ms {
		t.Fatalf("effects %+v, want a start of 30 ms", e)
	}
	c.Finish(30*ms, r, protection.Served)
	wantEffects(t, c, told{server.Fail, 1, 30 * ms, "fault"})
}

func TestStuckWorkGoesOnWhenItsFaultIsLifted(t *testing.T) {
	for _, external := range []bool{false, true} {
		c := newCore(t, server.Spec{Workers: 2, External: external})
		f := touch(fault.Treatment{Stuck: true})
		c.Inject(0, f)
		c.Arrive(0, request(1, 0))
		c.Lift(0, f)
		c.Inject(0, f)
		c.Effects()
		c.Arrive(1*ms, request(2, 1*ms))
		if got := c.Gauges(1 * ms).Running; got != 2 {
			t.Errorf("external %v: %d running, want the stuck one too", external, got)
		}
		c.Arrive(2*ms, request(3, 2*ms))
		c.Advance(5 * ms)
		if got := c.Gauges(5 * ms).Waiting; got != 1 {
			t.Errorf("external %v: %d wait, want the one without a worker", external, got)
		}
		c.Advance(20 * ms)
		c.Effects()
		c.Lift(20*ms, f)
		want := []told{{server.Start, 2, 20 * ms, ""}}
		if !external {
			c.Advance(40 * ms)
			want = []told{{server.Reply, 2, 30 * ms, ""}, {server.Reply, 3, 30 * ms, ""}}
		}
		if got := effects(c); !slices.Equal(got, want) {
			t.Errorf("external %v: %v, want %v", external, got, want)
		}
	}
}

func TestContentionFollowsTheNumberOfBusyWorkers(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 3})
	c.Inject(0, constantly(func(c *fault.Conditions) { c.Contention = 0.5; c.Coherence = 0.25 }))
	c.Arrive(0, request(1, 0))
	c.Arrive(4*ms, request(2, 4*ms))
	c.Advance(time.Second)
	// Alone at full pace until 4 ms; then with two busy work takes 1 + 0.5 + 0.5
	// times as long: the 6 ms that are left take 12. Then the second is alone, with
	// 6 ms done.
	wantEffects(t, c, told{server.Reply, 1, 16 * ms, ""}, told{server.Reply, 2, 20 * ms, ""})
}

// TestContentionIsTheScalabilityLaw holds X(n) = n / (1 + a(n-1) + bn(n-1)) for a
// server whose workers are all busy.
func TestContentionIsTheScalabilityLaw(t *testing.T) {
	const a, b = 0.1, 0.01
	for _, n := range []int{1, 2, 5, 10, 20} {
		c := newCore(t, server.Spec{Workers: n})
		c.Inject(0, constantly(func(c *fault.Conditions) { c.Contention = a; c.Coherence = b }))
		for id := range uint64(20 * n * 50) {
			c.Arrive(0, request(id, 0))
		}
		c.Advance(10 * time.Second)
		workers := float64(n)
		want := workers / (1 + a*(workers-1) + b*workers*(workers-1)) * 1000
		if got := float64(c.Counts().Served); math.Abs(got-min(want, 1000*workers)) > workers+1 {
			t.Errorf("%d workers served %v in 10 s, want %.1f", n, got, want)
		}
	}
}

func TestRejectCostOfAFault(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, Chain: chainNamed("queue_bound:count=1")})
	c.Inject(0, constantly(func(c *fault.Conditions) { c.RejectCost = 0.5 }))
	for id := range uint64(4) {
		c.Arrive(0, request(id, 0)) // one runs, one waits, two are refused for 5 ms each
	}
	c.Effects()
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 0, 10 * ms, ""}, told{server.Reply, 1, 30 * ms, ""})
}

// What rejections cost while that was a fault is paid when it is over as well, to
// the last nanosecond, however many workers share it.
func TestDebtOfAFaultThatIsOver(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 3, Chain: chainNamed("queue_bound:count=1")})
	costly := constantly(func(c *fault.Conditions) { c.RejectCost = 0.1000001 }) // 1,000,001 ns
	c.Inject(0, costly)
	for id := range uint64(6) {
		c.Arrive(0, request(id, 0)) // three run, one waits, two are refused
	}
	c.Lift(1*ms, costly)
	c.Advance(time.Second)
	if n, g := c.Counts(), c.Gauges(time.Second); n.Served != 4 || g.Debt != 0 {
		t.Errorf("%d served and %v owed, want 4 and nothing", n.Served, g.Debt)
	}
}

// At a slow pace an end of work is not known to the nanosecond, and never lies in
// the past.
func TestNoWorkEndsBeforeItBegan(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1})
	c.Inject(0, constantly(factor(3)))
	for i := range time.Duration(50) {
		r := request(uint64(i), i)
		r.Work = 0
		c.Arrive(100_000+i, r)
	}
	c.Advance(time.Second)
	last := time.Duration(0)
	for _, e := range c.Effects() {
		if e.At < e.R.Started || e.At < last {
			t.Errorf("request %d began at %v and ended at %v, after one at %v", e.R.ID, e.R.Started, e.At, last)
		}
		last = e.At
	}
}
