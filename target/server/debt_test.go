package server_test

import (
	"math"
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// TestRejectCost holds the balance of work: of capacity C at load L, with q of a
// request's work for each rejection, goodput is (C - qL) / (1 - q).
func TestRejectCost(t *testing.T) {
	const capacity = 1_000
	for _, tt := range []struct{ q, load float64 }{
		{0, 3}, {0.1, 2}, {0.2, 2}, {0.2, 4}, {0.5, 1.5},
	} {
		o := drive(t, server.Spec{
			Workers: 10, Service: 10 * ms, RejectCost: tt.q, Order: orderNamed("fifo"), Chain: chainNamed("queue_bound:count=50"),
		}, time.Second, poisson(tt.load*capacity, 20*time.Second, exponential(10*ms)))
		got := float64(o.good) / 20
		want := (capacity - tt.q*tt.load*capacity) / (1 - tt.q)
		if math.Abs(got-want) > 0.03*capacity {
			t.Errorf("q = %v at %vx: goodput %.0f/s, want %.0f/s", tt.q, tt.load, got, want)
		}
	}
}

func TestRejectionsAloneFillTheServer(t *testing.T) {
	o := drive(t, server.Spec{
		Workers: 10, Service: 10 * ms, RejectCost: 0.2, Order: orderNamed("fifo"), Chain: chainNamed("queue_bound:count=50"),
	}, time.Second, poisson(10_000, 10*time.Second, exponential(10*ms)))
	if got := float64(o.good) / 10; got > 50 {
		t.Errorf("goodput %.0f/s, want nearly nothing: the rejections ask for twice the capacity", got)
	}
}

func TestDebtDelaysWorkAndNotAnswers(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, RejectCost: 0.5, Chain: []server.Link{linkTo(new(shut))}})
	for id := range uint64(10) { // half of them refused, 5 ms each
		c.Arrive(0, request(id, 0))
	}
	for _, e := range c.Effects() {
		if e.Kind != server.Refuse || e.At != 0 {
			t.Errorf("got %+v, want refusals at once", e)
		}
	}
	// The first refusal came to an idle worker, which began to pay 5 ms. It then
	// found 4 more of them, and only after those a request.
	c.Advance(time.Hour)
	if got, want := c.Effects()[0].At, 5*ms+4*5*ms+10*ms; got != want {
		t.Errorf("the first reply comes at %v, want %v", got, want)
	}
}

func TestResetForgivesDebt(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, RejectCost: 1, Chain: []server.Link{linkTo(new(shut))}})
	c.Arrive(0, request(2, 0)) // the worker begins to pay
	c.Arrive(0, request(4, 0))
	if err := c.Reset(ms); err != nil {
		t.Fatal(err)
	}
	c.Arrive(ms, request(1, ms))
	c.Advance(time.Second)
	e := c.Effects()
	if last := e[len(e)-1]; last.Kind != server.Reply || last.At != 11*ms {
		t.Errorf("got %+v, want a reply at 11ms", last)
	}
}

func TestDebtIsCapped(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 4, RejectCost: 1, Chain: chainNamed("rate:rate=0.001")})
	for id := range uint64(1_000) {
		c.Arrive(0, request(id, 0))
	}
	if got, want := c.Gauges(0).Debt, 400*ms; got != want {
		t.Errorf("%v owed, want the cap of 4 workers x 100 ms", got)
	}
	c.Effects()
	r := request(2_000, 2_000*time.Second)
	c.Arrive(r.Arrived, r)
	if c.Gauges(r.Arrived).Debt != 0 || r.Started != r.Arrived {
		t.Errorf("the debt outlives idle time: %+v", c.Gauges(r.Arrived))
	}
	if _, refused := c.Counts().Refused[string(protection.ReasonRate)]; !refused {
		t.Error("nothing was refused")
	}
}

// TestExternalDebt has a shell do the work that rejections cost: a worker is its
// until it says so, and what it says after a reset is of no interest.
func TestExternalDebt(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, External: true, ExternalDebt: true, RejectCost: 0.5, Chain: []server.Link{linkTo(new(shut))}})
	for id := range uint64(4) { // half of them refused, 5 ms each
		c.Arrive(0, request(id, 0))
	}
	var owed []server.Effect
	pays := func() (n int) {
		for _, e := range c.Effects() {
			if e.Kind == server.Pay {
				owed = append(owed, e)
				n++
			}
		}
		return n
	}
	if pays() != 1 || owed[0].Work != 5*ms {
		t.Fatalf("got %+v, want 5 ms to be paid", owed)
	}
	c.Advance(time.Second)
	if c.Gauges(time.Second).Running != 0 {
		t.Fatal("a request runs on the worker that pays")
	}
	c.Paid(time.Second, owed[0].Debtor)
	if pays() != 1 || owed[1].Work != 5*ms {
		t.Fatalf("got %+v, want the other 5 ms to be paid", owed)
	}
	if err := c.Reset(time.Second); err != nil {
		t.Fatal(err)
	}
	c.Arrive(time.Second, request(0, time.Second))
	c.Paid(time.Second, owed[1].Debtor) // of before
	if pays() != 1 || c.Gauges(time.Second).Running != 0 {
		t.Fatal("the worker that pays is free")
	}
	c.Arrive(time.Second, request(1, time.Second))
	c.Paid(2*time.Second, owed[2].Debtor)
	c.Paid(2*time.Second, owed[2].Debtor) // there is no such payment any more
	if c.Gauges(2*time.Second).Running != 1 {
		t.Error("the worker has paid and takes no request")
	}
}
