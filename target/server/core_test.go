package server_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

func TestNewReportsEverything(t *testing.T) {
	_, err := server.New(server.Spec{Chain: []server.Link{{Kind: "limit"}}, RejectCost: 2})
	if err == nil {
		t.Fatal("an empty spec was accepted")
	}
	for _, want := range []string{"workers is 0", "service is 0s", "reject_cost is 2", "order is not set", "protections[0] (limit)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	_, err = server.New(server.Spec{Workers: 1, Service: ms, Order: orderNamed("fifo"), Chain: chainNamed("none", "limit")})
	if err == nil || !strings.Contains(err.Error(), "protections[1] (limit): limit is 0") {
		t.Errorf("a bad knob is reported as %v", err)
	}
}

// TestCapacityIsExact runs one load under a shell that is woken in time, and
// under shells that wake late or only when a request arrives. The effects are
// the same, at the same instants.
func TestCapacityIsExact(t *testing.T) {
	for _, tt := range []struct {
		name  string
		order string
		chain []string
		cost  float64
	}{
		{"fifo", "fifo", nil, 0},
		{"fifo bounded", "fifo", []string{"queue_bound:count=20,age=40ms"}, 0},
		{"lifo with deadline", "lifo", []string{"deadline:allowance=p95"}, 0},
		{"expensive refusals", "fifo", []string{"queue_bound:wait=20ms", "deadline:allowance=mean,admit=true"}, 0.2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(wake func(c *server.Core, until time.Duration)) []told {
				c := newCore(t, server.Spec{Workers: 3, Order: orderNamed(tt.order), Chain: chainNamed(tt.chain...), RejectCost: tt.cost})
				f := constantly(factor(1.7))
				var all []told
				var id uint64
				for a := range poisson(400, 20*time.Second, exponential(10*ms)) {
					wake(c, a.at)
					id++
					switch id {
					case 2000:
						c.Inject(a.at, f)
					case 3000:
						c.Lift(a.at, f)
					}
					c.Arrive(a.at, &protection.Request{ID: id, Cost: 1, Work: a.work, Arrived: a.at, Deadline: a.at + 100*ms})
					all = append(all, effects(c)...)
				}
				c.Advance(time.Hour)
				return append(all, effects(c)...)
			}
			punctual := run(func(c *server.Core, until time.Duration) {
				for c.Next() <= until {
					c.Advance(c.Next())
				}
			})
			rng := rand.New(rand.NewPCG(3, 4))
			for name, wake := range map[string]func(*server.Core, time.Duration){
				"never woken": func(*server.Core, time.Duration) {},
				"woken late": func(c *server.Core, until time.Duration) {
					if next := c.Next(); next < until {
						c.Advance(next + time.Duration(rng.Int64N(int64(until-next))))
					}
				},
			} {
				if got := run(wake); !slices.Equal(got, punctual) {
					t.Errorf("%s: the effects differ from those of a punctual shell", name)
				}
			}
		})
	}
}

func TestEndsInOrder(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 50})
	rng := rand.New(rand.NewPCG(1, 1))
	for id := range uint64(5_000) {
		r := request(id, 0)
		r.Work = time.Duration(rng.IntN(20)) // many ties, among them no work at all
		c.Arrive(0, r)
	}
	c.Advance(time.Second)
	ended := c.Effects()
	if len(ended) != 5_000 {
		t.Fatalf("%d ended, want 5000", len(ended))
	}
	for i := 1; i < len(ended); i++ {
		a, b := ended[i-1], ended[i]
		if a.At > b.At {
			t.Fatalf("an end at %v after one at %v", b.At, a.At)
		}
		if a.At == b.At && a.R.Started == b.R.Started && a.R.ID > b.R.ID {
			t.Fatalf("of two that started and ended together, %d came before %d", a.R.ID, b.R.ID)
		}
	}
}

func TestTimeStandsRatherThanRunsBack(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1})
	c.Arrive(50*ms, request(1, 50*ms))
	c.Arrive(20*ms, request(2, 90*ms)) // early, and from the future
	c.Advance(10 * ms)
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 1, 60 * ms, ""}, told{server.Reply, 2, 70 * ms, ""})
}

// watch records the loads that it is shown.
type watch struct {
	open
	loads []protection.Load
}

func (p *watch) Admit(_ time.Duration, _ *protection.Request, l protection.Load) protection.Reason {
	p.loads = append(p.loads, l)
	return ""
}

func TestLoad(t *testing.T) {
	p := new(watch)
	c := newCore(t, server.Spec{Workers: 1, Order: orderNamed("lifo"), Chain: []server.Link{linkTo(p)}})
	arrive := func(id uint64, at time.Duration) {
		r := request(id, at)
		r.Cost = float64(id)
		c.Arrive(at, r)
	}
	arrive(1, 0)
	arrive(2, 1*ms)
	arrive(3, 2*ms)
	arrive(4, 3*ms)
	arrive(5, 12*ms) // 4 runs
	arrive(6, 100*ms)
	rate := 100.0
	after := func(cost float64) float64 { // 256 requests are remembered
		cost += 256 * (1 - 1.0/256)
		return cost / 256 * 100
	}
	for i, want := range []protection.Load{
		{Workers: 1, CostRate: rate, Oldest: protection.Never, LastEmpty: 0},
		{Running: 1, Admitted: 1, Workers: 1, CostRate: rate, Oldest: protection.Never, LastEmpty: 1 * ms},
		{Waiting: 1, Running: 1, Admitted: 2, Workers: 1, QueuedCost: 2, CostRate: rate, Oldest: 1 * ms, LastEmpty: 1 * ms},
		{Waiting: 2, Running: 1, Admitted: 3, Workers: 1, QueuedCost: 5, CostRate: rate, Oldest: 1 * ms, LastEmpty: 1 * ms},
		{Waiting: 2, Running: 1, Admitted: 3, Workers: 1, QueuedCost: 5, CostRate: after(1), Oldest: 1 * ms, LastEmpty: 1 * ms},
		{Workers: 1, Oldest: protection.Never, LastEmpty: 100 * ms, CostRate: p.loads[5].CostRate},
	} {
		got := p.loads[i]
		if math.Abs(got.CostRate-want.CostRate) < 1e-6 {
			got.CostRate = want.CostRate
		}
		if got != want {
			t.Errorf("arrival %d saw\n%+v, want\n%+v", i+1, got, want)
		}
	}
}

func TestOldestByArrival(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1})
	for id, arrived := range []time.Duration{0, 7 * ms, 9 * ms, 5 * ms, 8 * ms} { // as their reading took
		c.Arrive(10*ms, request(uint64(id), arrived))
	}
	for i, w := range []time.Duration{5 * ms, 15 * ms, 25 * ms, 32 * ms, 0} {
		now := time.Duration(10*i+10) * ms
		c.Advance(now)
		if got := c.Gauges(now).OldestAge; got != w {
			t.Errorf("at %v the oldest has age %v, want %v", now, got, w)
		}
	}
}

// cheap degrades every request.
type cheap struct{ open }

func (*cheap) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	r.Degraded = true
	return ""
}

func TestDegraded(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(new(cheap)), linkTo(new(shut))}})
	c.Arrive(0, request(1, 0))
	c.Arrive(0, request(2, 0))
	c.Advance(time.Second)
	for _, e := range c.Effects() {
		if e.Answer.Degraded != (e.Kind == server.Reply) {
			t.Errorf("effect %+v: only an answer can be degraded", e)
		}
	}
	if got := c.Counts().Degraded; got != 1 {
		t.Errorf("%d degraded, want 1", got)
	}
}

func TestCostRateFollowsTheService(t *testing.T) {
	p := new(watch)
	c := newCore(t, server.Spec{Workers: 4, Chain: []server.Link{linkTo(p)}})
	for id := range uint64(3_000) {
		r := request(id, 0)
		r.Cost, r.Work = 2, 40*ms // declared: cost 1 in 10 ms
		c.Arrive(0, r)
	}
	c.Advance(time.Hour)
	if got := c.Gauges(time.Hour).CostRate; math.Abs(got-200) > 0.1 {
		t.Errorf("cost rate %.2f/s, want 4 workers x 2 in 40 ms = 200/s", got)
	}
}

func TestHeldRequests(t *testing.T) {
	spy := new(open)
	c := newCore(t, server.Spec{Workers: 1, Chain: append(chainNamed("limit:limit=3"), linkTo(spy))})
	a, b, gone, late := request(1, 0), request(2, 0), request(3, 0), request(4, 0)
	for _, r := range []*protection.Request{a, b, gone} {
		if reason := c.Admit(0, r); reason != "" {
			t.Fatalf("request %d refused: %s", r.ID, reason)
		}
	}
	if reason := c.Admit(0, late); reason != protection.ReasonLimit {
		t.Errorf("three are held and a fourth gets %q, want limit", reason)
	}
	wantEffects(t, c, told{server.Refuse, 4, 0, protection.ReasonLimit})
	c.Enqueue(ms, b)
	c.Enqueue(2*ms, a)
	c.Enqueue(2*ms, a)
	if !c.Release(3*ms, gone, "closed") || c.Release(3*ms, gone, "closed") || c.Release(3*ms, b, "closed") {
		t.Error("released is what is held, once, and nothing that runs")
	}
	if g := c.Gauges(3 * ms); g.Waiting != 1 || g.Running != 1 || g.Admitted != 2 {
		t.Errorf("got %+v, want one waiting and one running", g)
	}
	if !c.Release(4*ms, a, "closed") {
		t.Error("a waiting request was not released")
	}
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 2, 11 * ms, ""})
	want := []told{{id: 3, at: 3 * ms, reason: "closed"}, {id: 1, at: 4 * ms, reason: "closed"}, {id: 2, at: 11 * ms}}
	if !slices.Equal(spy.left, want) {
		t.Errorf("left: %v, want %v", spy.left, want)
	}
	if n := c.Counts(); n.Dropped["closed"] != 2 || n.Arrived != 4 || n.Served != 1 {
		t.Errorf("counts %+v", n)
	}
}

func TestExternalWork(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, External: true})
	a, b := request(1, 0), request(2, 0)
	c.Arrive(0, a)
	c.Arrive(0, b)
	if got := c.Next(); got != protection.Never {
		t.Errorf("wants to be woken at %v, but only the shell knows", got)
	}
	slow := constantly(factor(2))
	c.Inject(ms, slow)
	c.Finish(12*ms, a, protection.Served)
	c.Finish(12*ms, a, protection.Served) // no longer running: ignored
	started := c.Effects()
	if len(started) != 3 || started[0].Kind != server.Start || started[0].Work != 10*ms || started[2].Work != 20*ms {
		t.Fatalf("got %+v, want 1 started with 10 ms of work, its reply, and 2 started with 20 ms", started)
	}
	c.Finish(32*ms, b, protection.Failed)
	wantEffects(t, c)
	if n := c.Counts(); n.Served != 1 || n.Failed != 1 {
		t.Errorf("counts %+v, want 1 served and 1 failed", n)
	}
}

// TestFinishComesBeforeTick has a shell report an end at the very instant of a tick.
func TestFinishComesBeforeTick(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, External: true, Chain: []server.Link{linkTo(new(beat))}})
	a := request(1, 0)
	c.Arrive(0, a)
	c.Finish(10*ms, a, protection.Served)
	if got := c.Next(); got != 10*ms {
		t.Errorf("next %v, want the tick at 10 ms still to come", got)
	}
}

func TestReset(t *testing.T) {
	var spies []*open
	spec := server.Spec{Workers: 1, RejectCost: 1, Chain: []server.Link{{New: func() (protection.Protection, error) {
		spies = append(spies, new(open))
		return spies[len(spies)-1], nil
	}}}}
	c := newCore(t, spec)
	runs, waits, holds := request(1, 0), request(2, 0), request(3, 0)
	c.Arrive(0, runs)
	c.Arrive(0, waits)
	c.Admit(0, holds)
	if err := c.Reset(5 * ms); err != nil {
		t.Fatal(err)
	}
	wantEffects(
		t, c,
		told{server.Refuse, 1, 5 * ms, server.ReasonReset},
		told{server.Refuse, 2, 5 * ms, server.ReasonReset},
		told{server.Refuse, 3, 5 * ms, server.ReasonReset},
	)
	if len(spies) != 2 || len(spies[0].left) != 3 {
		t.Errorf("%d protections built, the first was told of %d requests; want 2 and 3", len(spies), len(spies[0].left))
	}
	if g := c.Gauges(5 * ms); g.Admitted != 0 || g.Debt != 0 {
		t.Errorf("after the reset: %+v", g)
	}
	c.Enqueue(6*ms, holds) // the shell did not know yet
	c.Arrive(7*ms, request(4, 7*ms))
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 4, 17 * ms, ""})
	if n := c.Counts(); n.Resets != 3 || n.Arrived != 4 || n.Served != 1 {
		t.Errorf("counts %+v", n)
	}
}

func TestResetThatFailsChangesNothing(t *testing.T) {
	fail := false
	c := newCore(t, server.Spec{Workers: 1, Order: func() (order.Order, error) {
		if fail {
			return nil, errors.New("no order today")
		}
		return orderNamed("fifo")()
	}})
	c.Arrive(0, request(1, 0))
	fail = true
	if err := c.Reset(5 * ms); err == nil || !strings.Contains(err.Error(), "no order today") {
		t.Errorf("got %v", err)
	}
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 1, 10 * ms, ""})
}

func TestNoAllocations(t *testing.T) {
	for _, chain := range [][]string{
		nil,
		{"queue_bound:count=200,wait=50ms,age=1s,cost=1000", "deadline:allowance=p95,admit=true", "limit:limit=1000", "rate:rate=3000"},
	} {
		for _, o := range []string{"fifo", "lifo"} {
			f := newFlood(t, server.Spec{Workers: 100, Service: 50 * ms, Order: orderNamed(o), Chain: chainNamed(chain...), RejectCost: 0.01}, 0.95, time.Second)
			if chain != nil {
				f.gap /= 2
			}
			for range 50_000 {
				f.arrive()
			}
			if n := testing.AllocsPerRun(20_000, f.arrive); n != 0 {
				t.Errorf("%s with %v: %v allocations per request", o, chain, n)
			}
		}
	}
}
