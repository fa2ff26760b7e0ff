package order_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"knee/target/order"
	"knee/target/plugin"
	"knee/target/protection"
	"knee/target/server"
)

const ms = time.Millisecond

// popAll empties o at now and returns the IDs in the order in which they came.
func popAll(o order.Order, now, lastEmpty time.Duration) []uint64 {
	var ids []uint64
	for o.Len() > 0 {
		ids = append(ids, o.Pop(now, protection.Load{Waiting: o.Len(), LastEmpty: lastEmpty}).ID)
	}
	return ids
}

func TestAdaptiveLIFO(t *testing.T) {
	for _, tt := range []struct {
		name, spec     string
		waiting        uint64
		now, lastEmpty time.Duration
		want           []uint64
	}{
		{"more than the length", "adaptive_lifo:length=2", 3, 0, 0, []uint64{3, 1, 2}},
		{"no more than the length", "adaptive_lifo:length=3", 3, 0, 0, []uint64{1, 2, 3}},
		{"not empty for exactly as long", "adaptive_lifo", 3, 100 * ms, 0, []uint64{1, 2, 3}},
		{"not empty for longer", "adaptive_lifo", 3, 100*ms + 1, 0, []uint64{3, 2, 1}},
		{"not empty for longer than is set", "adaptive_lifo:since_empty=5ms", 3, 1*time.Hour + 6*ms, 1 * time.Hour, []uint64{3, 2, 1}},
		{"empty since, after a long time", "adaptive_lifo", 3, 1 * time.Hour, 1*time.Hour - 100*ms, []uint64{1, 2, 3}},
		{"exactly the share", "adaptive_lifo:occupancy=0.8,limit=5", 4, 0, 0, []uint64{1, 2, 3, 4}},
		{"more than the share", "adaptive_lifo:occupancy=0.8,limit=5", 5, 0, 0, []uint64{5, 1, 2, 3, 4}},
		{"a share of a limit out of reach", "adaptive_lifo:occupancy=0.8,limit=1000", 5, time.Hour, 0, []uint64{1, 2, 3, 4, 5}},
	} {
		o := makeOrder(t, tt.spec)
		for id := range tt.waiting {
			o.Push(0, &protection.Request{ID: id + 1})
		}
		if got := popAll(o, tt.now, tt.lastEmpty); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAdaptiveLIFOTakesOneSign(t *testing.T) {
	for _, tt := range []struct{ knobs, want string }{
		{"length=5,since_empty=1s", "length is 5: want one of since_empty, length, occupancy"},
		{"length=5,occupancy=0.5,limit=5", "occupancy is 0.5: want one of since_empty, length, occupancy"},
		{"occupancy=0.5", "limit is 0: want a number of requests, at least 1"},
		{"occupancy=1,limit=5", "occupancy is 1: want a share above 0, below 1"},
		{"limit=5", "limit is 5: want none without occupancy"},
		{"length=-1,limit=-1", "length is -1: want a number of requests, at least 1\nlimit is -1: want a number of requests, at least 1"},
	} {
		_, err := newOrder("adaptive_lifo:" + tt.knobs)
		if err == nil || err.Error() != tt.want || len(plugin.KnobErrors(err)) != strings.Count(tt.want, "\n")+1 {
			t.Errorf("%s: got %v, want %s", tt.knobs, err, tt.want)
		}
	}
}

// serverOf returns a server with one worker and the order and protections given.
func serverOf(t *testing.T, spec string, protections ...string) *server.Core {
	t.Helper()
	s := server.Spec{Workers: 1, Service: 10 * ms, Order: func() (order.Order, error) { return newOrder(spec) }}
	for _, p := range protections {
		s.Chain = append(s.Chain, server.Link{Kind: p, New: func() (protection.Protection, error) { return makeProtection(t, p), nil }})
	}
	c, err := server.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCalmAfterIdleness: a server that was idle for long is not overloaded by the
// first requests that wait. One that kept the instant at which its queue became
// empty, instead of the last at which it was, would think so.
func TestCalmAfterIdleness(t *testing.T) {
	c := serverOf(t, "adaptive_lifo")
	at := func(id uint64, now time.Duration) {
		c.Arrive(now, &protection.Request{ID: id, Cost: 1, Work: 10 * ms, Arrived: now, Deadline: protection.Never})
	}
	at(1, 0)
	for id := range uint64(4) {
		at(id+2, time.Hour)
	}
	c.Advance(2 * time.Hour)
	var got []uint64
	for _, e := range c.Effects() {
		got = append(got, e.R.ID)
	}
	if want := []uint64{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

// TestPassedOver: what adaptive LIFO has passed over is served when the overload is over,
// in the order of arrival again once the queue is calm.
func TestPassedOver(t *testing.T) {
	o := makeOrder(t, "adaptive_lifo:length=4")
	var got []uint64
	for id := uint64(1); id <= 12; id++ { // two come for each that is served
		o.Push(0, &protection.Request{ID: id})
		if id%2 == 0 {
			got = append(got, o.Pop(0, protection.Load{Waiting: o.Len()}).ID)
		}
	}
	got = append(got, popAll(o, 0, 0)...)
	if want := []uint64{1, 2, 3, 8, 10, 12, 11, 9, 4, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCodelSeesBehindTheNewest: an order that serves the newest first does not hide
// from CoDel that the queue stands. Going by the age of what is served, 4 ms at
// most here, CoDel would drop nothing; HBase's did so.
func TestCodelSeesBehindTheNewest(t *testing.T) {
	for _, spec := range []string{"lifo", "adaptive_lifo:length=5"} {
		c := serverOf(t, spec, "codel")
		for i := range uint64(1000) {
			now := time.Duration(i) * 4 * ms
			c.Arrive(now, &protection.Request{ID: i, Cost: 1, Work: 10 * ms, Arrived: now, Deadline: protection.Never})
		}
		if dropped := c.Counts().Dropped; len(dropped) == 0 {
			t.Errorf("%s: nothing was dropped, and %d wait", spec, c.Gauges(4*time.Second).Waiting)
		}
	}
}

// TestSweepEndsTheDeadTail: orders that pass requests over keep those whose callers
// have gone, unless the server sweeps.
func TestSweepEndsTheDeadTail(t *testing.T) {
	for _, spec := range []string{"lifo", "adaptive_lifo", "adaptive_lifo:length=100", "priority", "fair:weights={b: 1e-6}"} {
		peak := func(spec string) int {
			c := serverOf(t, spec, "deadline:allowance=10ms")
			for i := range uint64(2000) { // twice what the server can do, for 10 s
				now := time.Duration(i) * 5 * ms
				r := &protection.Request{ID: i, Tenant: "a", Criticality: protection.Critical, Cost: 1, Work: 10 * ms, Arrived: now, Deadline: now + time.Second}
				if i%2 == 0 {
					r.Tenant, r.Criticality = "b", protection.Sheddable
				}
				c.Arrive(now, r)
			}
			return c.Counts().Peak
		}
		sep := ":"
		if strings.Contains(spec, ":") {
			sep = ","
		}
		if got := peak(spec); got > 200 {
			t.Errorf("%s: %d waited at once, want no more than a second brings, 200", spec, got)
		}
		if got := peak(spec + sep + "sweep=false"); got < 900 {
			t.Errorf("%s, not swept: %d waited at once, want nearly the whole excess, 1000", spec, got)
		}
	}
}
