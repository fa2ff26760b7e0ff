package protection

import (
	"errors"
	"math"
	"strings"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "queue_bound",
		Doc:   "bounds the queue by count, expected wait, age, cost or bytes, for all or for each tenant; several may be set, at least one must",
		Worse: "than its own wait bound: a count is right at one service time, since as many requests are four times the wait when the server is four times slower",
		Knobs: func() any { return new(queueBoundKnobs) },
		New:   newQueueBound,
	})
}

type queueBoundKnobs struct {
	Count       int           `yaml:"count" doc:"requests that may wait, not counting those in service; at least 1; 0 means no such bound"`
	CountFrom   time.Duration `yaml:"count_from" doc:"a count as well: what the server gets through in this duration as declared, workers / mean service time, rounded down but at least 1; above 0, not with count; 0 means no such bound"`
	Wait        time.Duration `yaml:"wait" doc:"refuse when the cost in the queue, at the rate measured, takes longer than this duration; 0 means no such bound"`
	Age         time.Duration `yaml:"age" doc:"drop from the queue what has waited this duration; 0 means no such bound"`
	Cost        float64       `yaml:"cost" doc:"cost that may wait in all (a request in an empty queue always may); above 0; 0 means no such bound"`
	Bytes       int           `yaml:"bytes" doc:"bytes of bodies that may wait in all (a request in an empty queue always may); at least 1; 0 means no such bound"`
	TenantCount int           `yaml:"tenant_count" doc:"requests of one tenant that may wait, those without a tenant being one; at least 1; 0 means no such bound"`
}

// queueBound refuses what would make the queue too long. Requests in service do
// not count, and protected ones are refused like any: what is full is full.
type queueBound struct {
	count int           // 0: no bound
	wait  float64       // seconds; 0: no bound
	age   time.Duration // 0: no bound
	cost  float64       // 0: no bound
}

func newQueueBound(s Setup, knobs any) (Protection, error) {
	k := knobs.(*queueBoundKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.Count < 0 {
		bad("count", k.Count, "a number of requests, at least 1")
	}
	if k.CountFrom < 0 {
		bad("count_from", k.CountFrom, "a duration above 0")
	} else if k.CountFrom > 0 && k.Count > 0 {
		bad("count_from", k.CountFrom, "none beside count")
	}
	if k.Wait < 0 {
		bad("wait", k.Wait, "a duration above 0")
	}
	if k.Age < 0 {
		bad("age", k.Age, "a duration above 0")
	}
	if !(k.Cost >= 0) { // not a number fails too
		bad("cost", k.Cost, "a cost above 0")
	}
	if k.Bytes < 0 {
		bad("bytes", k.Bytes, "a number of bytes, at least 1")
	}
	if k.TenantCount < 0 {
		bad("tenant_count", k.TenantCount, "a number of requests, at least 1")
	}
	if *k == (queueBoundKnobs{}) {
		bad("count", "not set", "at least one of count, count_from, wait, age, cost, bytes, tenant_count")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	b := queueBound{count: k.Count, wait: k.Wait.Seconds(), age: k.Age, cost: k.Cost}
	if k.CountFrom > 0 {
		b.count = countFrom(s, k.CountFrom)
	}
	if k.Bytes > 0 || k.TenantCount > 0 {
		return newShareBound(b, int64(k.Bytes), k.TenantCount), nil
	}
	return &b, nil
}

// countFrom returns how many requests s gets through in a budget of time.
func countFrom(s Setup, budget time.Duration) int {
	n := float64(s.Workers) * float64(budget) / float64(s.Service)
	return int(min(max(1, n), math.MaxInt32))
}

func (b *queueBound) Bounds() {}

func (b *queueBound) Needs() string {
	if b.cost > 0 {
		return "the cost"
	}
	return ""
}

func (b *queueBound) Admit(now time.Duration, r *Request, l Load) Reason {
	if b.count > 0 && l.Waiting >= b.count {
		return ReasonQueueFull
	}
	if b.cost > 0 && l.Waiting > 0 && l.QueuedCost+r.Cost > b.cost {
		return ReasonQueueCost
	}
	if b.wait > 0 && l.QueuedCost > l.CostRate*b.wait {
		return ReasonQueueWait
	}
	if b.age > 0 {
		r.ExpireAt(now+b.age, ReasonQueueAge)
	}
	return ""
}

func (b *queueBound) Leave(time.Duration, *Request, End) {}

// shareBound is a queueBound on what Load does not tell: how many bytes wait, and
// how many requests of each tenant. It counts from Admit, so a request that a
// shell still reads counts as waiting, until a worker takes it. When an order
// makes room, these two bounds see it only once the room is made, so they never
// let in another for it.
type shareBound struct {
	queueBound
	bytes  int64 // 0: no bound
	tenant int   // 0: no bound

	waiting  int
	queued   int64          // bytes
	byTenant map[string]int // of those that wait; a tenant of which none does is not in it
	picked   *Request       // the last that left the queue for a worker
}

func newShareBound(b queueBound, bytes int64, tenant int) *shareBound {
	return &shareBound{queueBound: b, bytes: bytes, tenant: tenant, byTenant: map[string]int{}}
}

func (b *shareBound) Needs() string {
	var needs []string
	if b.cost > 0 {
		needs = append(needs, "the cost")
	}
	if b.bytes > 0 {
		needs = append(needs, "the size")
	}
	if b.tenant > 0 {
		needs = append(needs, "the tenant")
	}
	return strings.Join(needs, " and ")
}

func (b *shareBound) Admit(now time.Duration, r *Request, l Load) Reason {
	if b.tenant > 0 && b.byTenant[r.Tenant] >= b.tenant {
		return ReasonTenantQueue
	}
	if b.bytes > 0 && b.waiting > 0 && r.Bytes > b.bytes-b.queued {
		return ReasonQueueBytes
	}
	if reason := b.queueBound.Admit(now, r, l); reason != "" {
		return reason
	}
	if b.picked == r { // the shell uses it again
		b.picked = nil
	}
	b.waiting++
	b.queued += r.Bytes
	if b.tenant > 0 {
		b.byTenant[r.Tenant]++
	}
	return ""
}

func (b *shareBound) Pick(_ time.Duration, r *Request, _ Load) Reason {
	b.picked = r
	b.release(r)
	return ""
}

// Leave releases what has left the queue in another way than by Pick. What a later
// protection drops at Pick leaves before another is picked.
func (b *shareBound) Leave(_ time.Duration, r *Request, e End) {
	if e.Outcome == Dropped && b.picked != r {
		b.release(r)
	}
}

func (b *shareBound) release(r *Request) {
	b.waiting--
	b.queued -= r.Bytes
	if b.tenant == 0 {
		return
	}
	if n := b.byTenant[r.Tenant]; n > 1 {
		b.byTenant[r.Tenant] = n - 1
	} else {
		delete(b.byTenant, r.Tenant)
	}
}
