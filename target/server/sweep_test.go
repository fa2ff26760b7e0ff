package server_test

import (
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// expiring has every request expire 15 ms after its arrival.
type expiring struct{ open }

func (*expiring) Admit(now time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	r.ExpireAt(now+15*ms, "tired")
	return ""
}

func TestAnOrderDecidesWhetherIsSwept(t *testing.T) {
	for _, tt := range []struct {
		order string
		at    time.Duration // of the drop of the request that waits too long
	}{
		{"fifo", 15 * ms},
		{"fifo:sweep=false", 30 * ms}, // only when its turn comes
	} {
		t.Run(tt.order, func(t *testing.T) {
			c := newCore(t, server.Spec{Workers: 1, Order: orderNamed(tt.order), Chain: []server.Link{linkTo(new(expiring))}})
			long := request(1, 0)
			long.Work = 30 * ms
			c.Arrive(0, long)
			c.Arrive(0, request(2, 0))
			c.Advance(100 * ms)
			got := map[uint64]told{}
			for _, e := range effects(c) {
				got[e.id] = e
			}
			if want := (told{server.Refuse, 2, tt.at, "tired"}); got[2] != want {
				t.Errorf("the second request ended as %v, want %v", got[2], want)
			}
		})
	}
}

// remembering keeps what it was told of how many are inside.
type remembering struct {
	open
	inside []int
}

func (p *remembering) Leave(_ time.Duration, r *protection.Request, _ protection.End) {
	p.inside = append(p.inside, r.InFlight)
}

func (*remembering) Limit() int { return 7 }

func TestRequestsKnowHowManyWereInside(t *testing.T) {
	p := new(remembering)
	c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(p)}})
	for id := range uint64(3) {
		c.Arrive(0, request(id, 0))
	}
	c.Advance(100 * ms)
	for i, n := range p.inside {
		if n != i+1 {
			t.Errorf("request %d was told that %d were inside, want %d, itself included", i, n, i+1)
		}
	}
	if len(p.inside) != 3 {
		t.Errorf("%d requests left, want 3", len(p.inside))
	}
	if got := c.Counts().Peak; got != 2 {
		t.Errorf("at most %d waited at once, want 2", got)
	}
	if got := c.Gauges(100 * ms).Limit; got != 7 {
		t.Errorf("the gauge says a limit of %d, want 7", got)
	}
}

func TestDegradedAnswersTakeLessWork(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, Degraded: 0.2, Chain: []server.Link{linkTo(new(cheap))}})
	c.Arrive(0, request(1, 0))
	c.Advance(100 * ms)
	if got := c.Effects(); len(got) != 1 || got[0].At != 2*ms || !got[0].Answer.Degraded {
		t.Errorf("effects %v, want one degraded answer after a fifth of 10 ms", got)
	}
}
