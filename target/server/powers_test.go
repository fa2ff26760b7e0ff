package server_test

import (
	"slices"
	"testing"
	"time"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

const ms = time.Millisecond

// newCore builds a core with the declared service time of 10 ms.
func newCore(t *testing.T, s server.Spec) *server.Core {
	t.Helper()
	s.Service = 10 * ms
	if s.Order == nil {
		s.Order = orderNamed("fifo")
	}
	c, err := server.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// request returns a request of cost 1 and 10 ms of work that never loses patience.
func request(id uint64, arrived time.Duration) *protection.Request {
	return &protection.Request{ID: id, Cost: 1, Work: 10 * ms, Arrived: arrived, Deadline: protection.Never}
}

// told is an effect without its pointer, for comparing.
type told struct {
	kind   server.EffectKind
	id     uint64
	at     time.Duration
	reason protection.Reason
}

func effects(c *server.Core) []told {
	var all []told
	for _, e := range c.Effects() {
		all = append(all, told{e.Kind, e.R.ID, e.At, e.Answer.Reason})
	}
	return all
}

func wantEffects(t *testing.T, c *server.Core, want ...told) {
	t.Helper()
	if got := effects(c); !slices.Equal(got, want) {
		t.Errorf("effects %v, want %v", got, want)
	}
}

// open lets everything in and records who left, and how.
type open struct {
	left []told // with Kind unused
}

func (*open) Admit(time.Duration, *protection.Request, protection.Load) protection.Reason { return "" }

func (p *open) Leave(now time.Duration, r *protection.Request, e protection.End) {
	p.left = append(p.left, told{id: r.ID, at: now, reason: e.Reason})
}

// shut refuses the requests of even ID.
type shut struct{ open }

func (*shut) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	if r.ID%2 == 0 {
		return "even"
	}
	return ""
}

func TestChainStopsAtFirstRefusal(t *testing.T) {
	first, last := new(open), new(open)
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(first), linkTo(new(shut)), linkTo(last)}})
	c.Arrive(5*ms, request(2, 5*ms))
	wantEffects(t, c, told{server.Refuse, 2, 5 * ms, "even"})
	if !slices.Equal(first.left, []told{{id: 2, at: 5 * ms, reason: "even"}}) {
		t.Errorf("the protection that had let it in was told %v", first.left)
	}
	if len(last.left) != 0 {
		t.Errorf("a protection that was not asked was told %v", last.left)
	}
	if got := c.Counts().Refused["even"]; got != 1 {
		t.Errorf("refused for even: %d, want 1", got)
	}
}

// impatient refuses at dequeue what has waited more than 15 ms.
type impatient struct {
	open
	loads []protection.Load
}

func (p *impatient) Pick(now time.Duration, r *protection.Request, l protection.Load) protection.Reason {
	p.loads = append(p.loads, l)
	if now-r.Arrived > 15*ms {
		return "waited"
	}
	return ""
}

func TestPicker(t *testing.T) {
	p := new(impatient)
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(p)}})
	for id := range uint64(4) {
		c.Arrive(0, request(id, 0))
	}
	c.Advance(time.Second)
	wantEffects(
		t, c,
		told{server.Reply, 0, 10 * ms, ""},
		told{server.Reply, 1, 20 * ms, ""},
		told{server.Refuse, 2, 20 * ms, "waited"},
		told{server.Refuse, 3, 20 * ms, "waited"},
	)
	for i, want := range []int{0, 2, 1, 0} {
		if got := p.loads[i].Waiting; got != want {
			t.Errorf("look %d saw %d waiting, want %d: the request looked at does not count", i, got, want)
		}
	}
	if got := c.Counts().Dropped["waited"]; got != 2 {
		t.Errorf("dropped %d, want 2", got)
	}
}

// beat ticks each 10 ms, three times.
type beat struct {
	open
	at []time.Duration
}

func (p *beat) Tick(now time.Duration, _ protection.Load) time.Duration {
	p.at = append(p.at, now)
	if len(p.at) == 4 {
		return protection.Never
	}
	return now + 10*ms
}

func TestTicker(t *testing.T) {
	p := new(beat)
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(p)}})
	if got := c.Next(); got != 10*ms {
		t.Errorf("wants to be woken at %v, want 10ms", got)
	}
	c.Advance(25 * ms) // late for two ticks
	c.Arrive(30*ms, request(1, 30*ms))
	if want := []time.Duration{0, 10 * ms, 20 * ms, 30 * ms}; !slices.Equal(p.at, want) {
		t.Errorf("ticks at %v, want %v", p.at, want)
	}
	c.Advance(time.Second)
	if got := c.Next(); got != protection.Never {
		t.Errorf("wants to be woken at %v after the last tick", got)
	}
}

// stuck ticks without moving on.
type stuck struct {
	open
	n int
}

func (p *stuck) Tick(now time.Duration, _ protection.Load) time.Duration {
	p.n++
	return now
}

func TestTickerThatStandsStill(t *testing.T) {
	p := new(stuck)
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(p)}})
	c.Advance(10)
	if p.n != 11 {
		t.Errorf("%d ticks in 10 ns, want one at the start and one each nanosecond", p.n)
	}
}

// polite tells refused callers when to come back and marks all answers.
type polite struct{ shut }

func (*polite) Stamp(_ time.Duration, _ *protection.Request, a *protection.Answer) {
	if a.Reason != "" {
		a.RetryAfter = time.Second
	}
}

func TestStamper(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(new(polite))}})
	c.Arrive(0, request(1, 0))
	c.Arrive(0, request(2, 0))
	c.Advance(time.Second)
	for _, e := range c.Effects() {
		want := time.Duration(0)
		if e.Kind == server.Refuse {
			want = time.Second
		}
		if e.Answer.RetryAfter != want {
			t.Errorf("request %d: retry after %v, want %v", e.R.ID, e.Answer.RetryAfter, want)
		}
	}
}

// upstart is FIFO, but gives up its newest waiting request for one of a higher
// criticality.
type upstart struct {
	order.Order
	waiting []*protection.Request
	asked   int
}

func newUpstart() *upstart {
	o, err := orderNamed("fifo")()
	check(err)
	return &upstart{Order: o}
}

func (o *upstart) Push(now time.Duration, r *protection.Request) {
	o.waiting = append(o.waiting, r)
	o.Order.Push(now, r)
}

func (o *upstart) Pop(now time.Duration, l protection.Load) *protection.Request {
	r := o.Order.Pop(now, l)
	if r != nil {
		o.waiting = slices.DeleteFunc(o.waiting, func(w *protection.Request) bool { return w == r })
	}
	return r
}

func (o *upstart) Remove(r *protection.Request) {
	o.waiting = slices.DeleteFunc(o.waiting, func(w *protection.Request) bool { return w == r })
	o.Order.Remove(r)
}

func (o *upstart) Evict(_ time.Duration, r *protection.Request) *protection.Request {
	o.asked++
	if len(o.waiting) > 0 && o.waiting[len(o.waiting)-1].Criticality < r.Criticality {
		return o.waiting[len(o.waiting)-1]
	}
	return nil
}

func TestEvictor(t *testing.T) {
	critical := func(id uint64) *protection.Request {
		r := request(id, 0)
		r.Criticality = protection.Critical
		return r
	}
	bound := chainNamed("queue_bound:count=1")
	setup := func(t *testing.T, after ...server.Link) (*server.Core, *upstart, *open) {
		o, spy := newUpstart(), new(open)
		c := newCore(t, server.Spec{
			Workers: 1,
			Order:   func() (order.Order, error) { return o, nil },
			Chain:   append(append([]server.Link{linkTo(spy)}, bound...), after...),
		})
		c.Arrive(0, request(1, 0)) // runs
		c.Arrive(0, request(3, 0)) // waits
		return c, o, spy
	}

	t.Run("pushed out", func(t *testing.T) {
		c, _, spy := setup(t)
		c.Arrive(0, critical(5))
		wantEffects(t, c, told{server.Refuse, 3, 0, protection.ReasonQueueFull})
		if !slices.Equal(spy.left, []told{{id: 3, reason: protection.ReasonQueueFull}}) {
			t.Errorf("the chain was told %v", spy.left)
		}
		c.Advance(time.Second)
		wantEffects(t, c, told{server.Reply, 1, 10 * ms, ""}, told{server.Reply, 5, 20 * ms, ""})
	})
	t.Run("later protections see the room", func(t *testing.T) {
		p := new(watch)
		c, _, _ := setup(t, linkTo(p))
		c.Arrive(5*ms, critical(5))
		want := protection.Load{Running: 1, Admitted: 1, Workers: 1, CostRate: 100, Oldest: protection.Never, LastEmpty: 5 * ms}
		if got := p.loads[2]; got != want {
			t.Errorf("saw %+v, want %+v", got, want)
		}
	})
	t.Run("not of higher criticality", func(t *testing.T) {
		c, o, _ := setup(t)
		c.Arrive(0, request(5, 0))
		wantEffects(t, c, told{server.Refuse, 5, 0, protection.ReasonQueueFull})
		if o.asked != 1 {
			t.Errorf("asked %d times, want once", o.asked)
		}
	})
	t.Run("a later protection refuses", func(t *testing.T) {
		c, _, _ := setup(t, linkTo(new(shut)))
		c.Arrive(0, critical(6))
		wantEffects(t, c, told{server.Refuse, 6, 0, "even"})
		if got := c.Gauges(0).Waiting; got != 1 {
			t.Errorf("%d wait, want 1: nobody is pushed out for one that is refused", got)
		}
	})
	t.Run("asked once", func(t *testing.T) {
		c, o, _ := setup(t, chainNamed("queue_bound:count=1")...)
		c.Arrive(0, critical(7))
		wantEffects(t, c, told{server.Refuse, 3, 0, protection.ReasonQueueFull})
		if o.asked != 1 {
			t.Errorf("asked %d times, want once: the second bound knows of the room", o.asked)
		}
	})
	t.Run("not enough room", func(t *testing.T) {
		o := newUpstart()
		c := newCore(t, server.Spec{
			Workers: 1,
			Order:   func() (order.Order, error) { return o, nil },
			Chain:   chainNamed("queue_bound:cost=3"),
		})
		for id := range uint64(4) { // one runs, three wait
			c.Arrive(0, request(id, 0))
		}
		big := critical(7)
		big.Cost = 2
		c.Arrive(0, big)
		wantEffects(t, c, told{server.Refuse, 7, 0, protection.ReasonQueueCost})
		if g := c.Gauges(0); g.Waiting != 3 || o.asked != 1 {
			t.Errorf("%d wait after %d questions, want 3 after one", g.Waiting, o.asked)
		}
	})
}
