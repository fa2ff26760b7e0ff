package protection_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

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
		{"count from a budget: one below", map[string]any{"count_from": 200 * ms}, 1, protection.Load{Waiting: 199, QueuedCost: 199}, ok},
		{"count from a budget: 1000/s for 200 ms", map[string]any{"count_from": 200 * ms}, 1, protection.Load{Waiting: 200, QueuedCost: 200}, protection.ReasonQueueFull},
		{"count from a budget: rounded down", map[string]any{"count_from": 1900 * time.Microsecond}, 1, protection.Load{Waiting: 1, QueuedCost: 1}, protection.ReasonQueueFull},
		{"count from a budget: at least 1", map[string]any{"count_from": time.Nanosecond}, 1, protection.Load{}, ok},
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

// TestCountFromBudget holds the worked examples of a bound from a budget.
func TestCountFromBudget(t *testing.T) {
	for _, tt := range []struct {
		workers int
		service time.Duration
		budget  time.Duration
		want    int
	}{
		{200, 25 * ms, 25 * ms, 200},       // 8,000/s
		{100, 50 * ms, 100 * ms, 200},      // 2,000/s
		{100, 50 * ms, 250 * ms, 500},      // 2,000/s
		{200, 50 * ms, 250 * ms, 1000},     // 4,000/s
		{3, 7 * ms, 100 * ms, 42},          // 42.86
		{1, time.Hour, time.Nanosecond, 1}, // nothing at all would be no bound
	} {
		i, err := protection.Registry.Lookup("queue_bound")
		if err != nil {
			t.Fatal(err)
		}
		k := i.Knobs()
		field(t, k, "count_from").SetInt(int64(tt.budget))
		p, err := i.New(protection.Setup{Workers: tt.workers, Service: tt.service}, k)
		if err != nil {
			t.Fatal(err)
		}
		for waiting, want := range map[int]protection.Reason{tt.want - 1: "", tt.want: protection.ReasonQueueFull} {
			if got := admit(p, 0, 1, protection.Load{Waiting: waiting}); got != want {
				t.Errorf("%d workers of %v, %v: with %d waiting got %q, want %q", tt.workers, tt.service, tt.budget, waiting, got, want)
			}
		}
	}
}

// queue plays the part of a server's queue for a protection that counts what waits.
type queue struct {
	p       protection.Protection
	waiting []*protection.Request
}

func (q *queue) push(r *protection.Request) protection.Reason {
	reason := q.p.Admit(0, r, protection.Load{Waiting: len(q.waiting), Oldest: protection.Never, CostRate: 1000})
	if reason == "" {
		q.waiting = append(q.waiting, r)
	}
	return reason
}

func (q *queue) pop() *protection.Request {
	r := q.waiting[0]
	q.waiting = q.waiting[1:]
	return r
}

// start has a worker take the first.
func (q *queue) start() *protection.Request {
	r := q.pop()
	q.p.(protection.Picker).Pick(0, r, protection.Load{Waiting: len(q.waiting)})
	return r
}

func of(tenant string, bytes int64) *protection.Request {
	return &protection.Request{Cost: 1, Tenant: tenant, Bytes: bytes, Expires: protection.Never}
}

func TestBytesBound(t *testing.T) {
	q := &queue{p: must(t, "queue_bound", map[string]any{"bytes": 100})}
	for i, step := range []struct {
		bytes int64
		want  protection.Reason
	}{{40, ""}, {40, ""}, {30, protection.ReasonQueueBytes}, {20, ""}, {1, protection.ReasonQueueBytes}, {0, ""}} {
		if got := q.push(of("", step.bytes)); got != step.want {
			t.Errorf("step %d, %d bytes: got %q, want %q", i, step.bytes, got, step.want)
		}
	}
	for len(q.waiting) > 0 {
		q.start()
	}
	if q.push(of("", 150)) != "" {
		t.Error("an oversized request may not enter an empty queue")
	}
	if q.push(of("", 1)) != protection.ReasonQueueBytes {
		t.Error("one entered behind an oversized one")
	}
}

func TestTenantBound(t *testing.T) {
	q := &queue{p: must(t, "queue_bound", map[string]any{"tenant_count": 2, "count": 3})}
	for i, step := range []struct {
		tenant string
		want   protection.Reason
	}{{"a", ""}, {"a", ""}, {"a", protection.ReasonTenantQueue}, {"b", ""}, {"b", protection.ReasonQueueFull}} {
		if got := q.push(of(step.tenant, 0)); got != step.want {
			t.Errorf("step %d, tenant %s: got %q, want %q", i, step.tenant, got, step.want)
		}
	}
	q.start() // one of a
	if got := q.push(of("a", 0)); got != "" {
		t.Errorf("a after one of a has started: %q", got)
	}
}

// TestBoundsCountWhatWaits lets requests end in every way there is, and holds after
// each that what counts is what waits.
func TestBoundsCountWhatWaits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const room = 12
		q := &queue{p: must(t, "queue_bound", map[string]any{"tenant_count": 4, "bytes": room})}
		var running, gone []*protection.Request
		leave := func(r *protection.Request, o protection.Outcome) {
			q.p.Leave(0, r, protection.End{Outcome: o})
			gone = append(gone, r)
		}
		take := func(s *[]*protection.Request) *protection.Request {
			if len(*s) == 0 {
				rt.Skip()
			}
			i := rapid.IntRange(0, len(*s)-1).Draw(rt, "which")
			r := (*s)[i]
			*s = append((*s)[:i:i], (*s)[i+1:]...)
			return r
		}
		rt.Repeat(map[string]func(*rapid.T){
			"push": func(rt *rapid.T) {
				r := new(protection.Request)
				if len(gone) > 0 { // a shell recycles them
					r, gone = gone[len(gone)-1], gone[:len(gone)-1]
				}
				*r = *of(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "tenant"), rapid.Int64Range(0, room+3).Draw(rt, "bytes"))
				var sum int64
				ofTenant := 0
				for _, w := range q.waiting {
					sum += w.Bytes
					if w.Tenant == r.Tenant {
						ofTenant++
					}
				}
				want := protection.Reason("")
				switch {
				case ofTenant >= 4:
					want = protection.ReasonTenantQueue
				case len(q.waiting) > 0 && sum+r.Bytes > room:
					want = protection.ReasonQueueBytes
				}
				if got := q.push(r); got != want {
					rt.Fatalf("got %q, want %q with %d bytes and %d of the tenant waiting", got, want, sum, ofTenant)
				}
			},
			"start": func(rt *rapid.T) {
				if len(q.waiting) == 0 {
					rt.Skip()
				}
				running = append(running, q.start())
			},
			"dropped by a later picker": func(rt *rapid.T) {
				if len(q.waiting) == 0 {
					rt.Skip()
				}
				leave(q.start(), protection.Dropped)
			},
			"dropped by an earlier picker": func(rt *rapid.T) {
				if len(q.waiting) == 0 {
					rt.Skip()
				}
				leave(q.pop(), protection.Dropped)
			},
			"swept":  func(*rapid.T) { leave(take(&q.waiting), protection.Dropped) },
			"served": func(*rapid.T) { leave(take(&running), protection.Served) },
			"failed": func(*rapid.T) { leave(take(&running), protection.Failed) },
		})
	})
}

func TestTenantBoundAllocatesNothing(t *testing.T) {
	room := make([]*protection.Request, 0, 4)
	q := &queue{p: must(t, "queue_bound", map[string]any{"tenant_count": 2, "bytes": 100}), waiting: room}
	r := of("a", 1)
	if n := testing.AllocsPerRun(1000, func() {
		if q.push(r) != "" {
			t.Fatal("refused")
		}
		q.start()
		q.waiting = room
		q.p.Leave(0, r, protection.End{})
	}); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func TestNeeds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		want  string
	}{
		{"queue_bound", map[string]any{"count": 1}, ""},
		{"queue_bound", map[string]any{"cost": 1.0}, "the cost"},
		{"queue_bound", map[string]any{"tenant_count": 1}, "the tenant"},
		{"queue_bound", map[string]any{"tenant_count": 1, "bytes": 1, "cost": 1.0}, "the cost and the size and the tenant"},
		{"rate", map[string]any{"tenant_rate": 1.0}, "the tenant"},
		{"rate", map[string]any{"rate": 1.0, "tenants": map[string]float64{"a": 1}}, "the tenant"},
		{"random", nil, "the cost"},
		{"random", map[string]any{"share": 0.5}, ""},
	} {
		if got := must(t, tt.name, tt.knobs).(protection.Knower).Needs(); got != tt.want {
			t.Errorf("%s %v needs %q, want %q", tt.name, tt.knobs, got, tt.want)
		}
	}
	if _, knows := must(t, "rate", map[string]any{"rate": 1.0}).(protection.Knower); knows {
		t.Error("a rate of all needs to know something")
	}
}

// TestHardBoundsSpareNobody holds that a protected request is let in by what sheds by
// load, and refused by what bounds memory, work in flight, rates and time, like any.
func TestHardBoundsSpareNobody(t *testing.T) {
	full := protection.Load{Waiting: 500, Running: 10, Admitted: 510, Workers: 10, QueuedCost: 500, CostRate: 1000, Oldest: 0, LastEmpty: 0}
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		hard  bool
	}{
		{"queue_bound", map[string]any{"count": 20}, true},
		{"queue_bound", map[string]any{"wait": 100 * ms}, true},
		{"queue_bound", map[string]any{"tenant_count": 1}, true},
		{"rate", map[string]any{"rate": 20.0, "burst": 1}, true},
		{"rate", map[string]any{"tenant_rate": 20.0, "tenant_burst": 1}, true},
		{"deadline", map[string]any{"allowance": "1s"}, true},
		{"random", map[string]any{"capacity": 1.0}, false},
		{"random", map[string]any{"share": 1.0}, false},
		{"red", map[string]any{"weight": 1.0}, false},
		{"pid", nil, false},
	} {
		refused := map[bool]int{}
		for _, protected := range []bool{true, false} {
			p := must(t, tt.name, tt.knobs)
			ticker, _ := p.(protection.Ticker)
			for i := range 100 {
				now := time.Second + time.Duration(i)*ms
				if ticker != nil {
					ticker.Tick(now, full)
				}
				r := &protection.Request{Cost: 1, Protected: protected, Arrived: now, Deadline: now + 100*ms, Expires: protection.Never}
				if p.Admit(now, r, full) != "" {
					refused[protected]++
				}
			}
		}
		if refused[false] < 80 || tt.hard && refused[true] != refused[false] || !tt.hard && refused[true] != 0 {
			t.Errorf("%s %v: refused %d of 100 protected and %d of 100 others", tt.name, tt.knobs, refused[true], refused[false])
		}
	}
}

func TestBadBounds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		want  string
	}{
		{"queue_bound", map[string]any{"count": 5, "count_from": time.Second}, "count_from is 1s: want none beside count"},
		{"queue_bound", nil, "count is not set: want at least one of count, count_from, wait, age, cost, bytes, tenant_count"},
		{"rate", nil, "rate is not set: want requests per second, above 0"},
		{"rate", map[string]any{"rate": math.Inf(1)}, "rate is +Inf: want requests per second, above 0"},
		{"rate", map[string]any{"tenants": map[string]float64{"a": 1}, "tenant_rate": 5.0}, "rate is not set: want requests per second, above 0\ntenant_rate is 5: want none beside tenants"},
		{"rate", map[string]any{"rate": 5.0, "tenants": map[string]float64{"b": math.NaN(), "a": 0}}, "tenants.a is 0: want a weight from 1e-6 to 1e6\ntenants.b is NaN: want a weight from 1e-6 to 1e6"},
		{"red", map[string]any{"min": 20.0}, "max is 15: want a number of requests above min"},
		{"pid", map[string]any{"kp": 0.0, "ki": 0.0}, "kp is 0: want one of kp, ki, kd above 0"},
	} {
		if _, err := build(t, tt.name, tt.knobs); err == nil || err.Error() != tt.want {
			t.Errorf("%s %v: got %v, want %s", tt.name, tt.knobs, err, tt.want)
		}
	}
}
