package protection_test

import (
	"testing"
	"time"

	"knee/target/protection"
)

const ms = time.Millisecond

func admit(p protection.Protection, now time.Duration, cost float64, l protection.Load) protection.Reason {
	return p.Admit(now, &protection.Request{Cost: cost, Arrived: now, Deadline: protection.Never, Expires: protection.Never}, l)
}

func TestQueueBound(t *testing.T) {
	const ok = protection.Reason("")
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		cost  float64
		load  protection.Load
		want  protection.Reason
	}{
		{"count: one below", map[string]any{"count": 2}, 1, protection.Load{Waiting: 1, QueuedCost: 1}, ok},
		{"count: full", map[string]any{"count": 2}, 1, protection.Load{Waiting: 2, QueuedCost: 2}, protection.ReasonQueueFull},
		{"count: what runs does not count", map[string]any{"count": 2}, 1, protection.Load{Waiting: 1, Running: 50, Admitted: 51}, ok},
		{"cost: 40 of 100", map[string]any{"cost": 100.0}, 40, protection.Load{}, ok},
		{"cost: 40 more", map[string]any{"cost": 100.0}, 40, protection.Load{Waiting: 1, QueuedCost: 40}, ok},
		{"cost: 30 too many", map[string]any{"cost": 100.0}, 30, protection.Load{Waiting: 2, QueuedCost: 80}, protection.ReasonQueueCost},
		{"cost: exactly full", map[string]any{"cost": 100.0}, 20, protection.Load{Waiting: 2, QueuedCost: 80}, ok},
		{"cost: oversized alone", map[string]any{"cost": 100.0}, 150, protection.Load{}, ok},
		{"cost: behind an oversized one", map[string]any{"cost": 100.0}, 1, protection.Load{Waiting: 1, QueuedCost: 150}, protection.ReasonQueueCost},
		{"wait: 200 ahead at 2000/s", map[string]any{"wait": 100 * ms}, 1, protection.Load{Waiting: 200, QueuedCost: 200, CostRate: 2000}, ok},
		{"wait: 201 ahead at 2000/s", map[string]any{"wait": 100 * ms}, 1, protection.Load{Waiting: 201, QueuedCost: 201, CostRate: 2000}, protection.ReasonQueueWait},
		{"wait: no worker is left", map[string]any{"wait": 100 * ms}, 1, protection.Load{Waiting: 1, QueuedCost: 1}, protection.ReasonQueueWait},
		{"wait: an empty queue", map[string]any{"wait": 100 * ms}, 1, protection.Load{}, ok},
		{"several: the tighter one", map[string]any{"count": 300, "wait": 100 * ms}, 1, protection.Load{Waiting: 250, QueuedCost: 250, CostRate: 2000}, protection.ReasonQueueWait},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := admit(must(t, "queue_bound", tt.knobs), 0, tt.cost, tt.load); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestQueueAge(t *testing.T) {
	p := must(t, "queue_bound", map[string]any{"age": 100 * ms})
	r := &protection.Request{Cost: 1, Arrived: 3 * ms, Deadline: protection.Never, Expires: protection.Never}
	p.Admit(5*ms, r, protection.Load{})
	if r.Expires != 105*ms || r.ExpiresBy != protection.ReasonQueueAge {
		t.Errorf("expires at %v by %q, want 105ms by queue_age: the age counts from where the queue begins", r.Expires, r.ExpiresBy)
	}
	r.Expires, r.ExpiresBy = 50*ms, "sooner"
	p.Admit(5*ms, r, protection.Load{})
	if r.Expires != 50*ms || r.ExpiresBy != "sooner" {
		t.Errorf("expires at %v by %q, want the sooner of two", r.Expires, r.ExpiresBy)
	}
}

func TestLimitCountsWhatWaits(t *testing.T) {
	p := must(t, "limit", map[string]any{"limit": 3})
	for admitted, want := range map[int]protection.Reason{2: "", 3: protection.ReasonLimit, 4: protection.ReasonLimit} {
		if got := admit(p, 0, 1, protection.Load{Waiting: admitted - 1, Running: 1, Admitted: admitted}); got != want {
			t.Errorf("%d in flight: got %q, want %q", admitted, got, want)
		}
	}
}

func TestTokenBucket(t *testing.T) {
	type call struct {
		at   time.Duration
		pass bool
	}
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		calls []call
	}{
		{"10/s burst 5", map[string]any{"rate": 10.0, "burst": 5}, []call{
			{0, true},
			{0, true},
			{0, true},
			{0, true},
			{0, true},
			{0, false},
			{50 * ms, false},
			{99 * ms, false},
			{100 * ms, true},
			{150 * ms, false},
			{199 * ms, false},
			{200 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, false},
		}},
		{"time runs backwards", map[string]any{"rate": 10.0, "burst": 5}, []call{
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{500 * ms, true},
			{1000 * ms, false}, // the library alone has five tokens again
			{1100 * ms, true},
			{1100 * ms, false},
		}},
		{"burst by default: a tenth of a second", map[string]any{"rate": 20.0}, []call{{0, true}, {0, true}, {0, false}}},
		{"burst by default: at least 1", map[string]any{"rate": 0.5}, []call{{0, true}, {1999 * ms, false}, {2000 * ms, true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := must(t, "rate", tt.knobs)
			for i, c := range tt.calls {
				want := protection.ReasonRate
				if c.pass {
					want = ""
				}
				if got := admit(p, c.at, 1, protection.Load{}); got != want {
					t.Errorf("call %d at %v: got %q, want %q", i, c.at, got, want)
				}
			}
		})
	}
}
