package order_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// of pushes a request of a tenant into o at its arrival.
func of(o order.Order, id uint64, now time.Duration, tenant string, cost float64) *protection.Request {
	r := &protection.Request{ID: id, Arrived: now, Tenant: tenant, Cost: cost}
	o.Push(now, r)
	return r
}

// queue pushes requests that are there at once, given by tenant: A=200 750 500,
// B=…, and returns what each is called: A1, A2 …
func queue(t fatal, o order.Order, flows string) map[uint64]string {
	t.Helper()
	names := map[uint64]string{}
	for flow := range strings.SplitSeq(flows, ",") {
		tenant, costs, _ := strings.Cut(strings.TrimSpace(flow), "=")
		for i, text := range strings.Fields(costs) {
			cost, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%v", err)
			}
			id := uint64(len(names))
			of(o, id, 0, tenant, cost)
			names[id] = fmt.Sprint(tenant, i+1)
		}
	}
	return names
}

// served empties o, in a server that is never idle, and returns the names.
func served(o order.Order, names map[uint64]string) string {
	var got []string
	for o.Len() > 0 {
		got = append(got, names[o.Pop(0, protection.Load{Waiting: o.Len(), Running: 1}).ID])
	}
	return strings.Join(got, " ")
}

// TestFairVectors holds orders that are published or follow from the published
// algorithms. Those of the API server of Kubernetes are of its own fair queuing,
// with a limit of 1 and queues by round robin.
func TestFairVectors(t *testing.T) {
	for _, tt := range []struct{ name, spec, queue, want string }{
		{
			"deficit round robin", "fair:quantum=500", "A=200 750 500, B=500 500, C=100 100 100 100 100 100",
			"A1 B1 C1 C2 C3 C4 C5 A2 B2 C6 A3",
		},
		{
			"deficit round robin, weights", "fair:weights={A: 2}", "A=1 1 1 1 1 1, B=1 1 1 1 1 1",
			"A1 A2 B1 A3 A4 B2 A5 A6 B3 B4 B5 B6",
		},
		{
			"deficit round robin, rounds in vain", "fair:quantum=0.001,weights={A: 2}", "A=1 1 1 1 1 1, B=1 1 1 1 1 1",
			"A1 A2 B1 A3 A4 B2 A5 A6 B3 B4 B5 B6",
		},
		{"start time", "fair:scheduler=sfq,weights={B: 2}", "A=1 1 1, B=1 1 1", "A1 B1 B2 A2 B3 A3"},
		{"Kubernetes, equal", "fair:scheduler=sfq", "A=1 1 1 1, B=1 1, C=1", "A1 B1 C1 A2 B2 A3 A4"},
		{"Kubernetes, equal, in rounds", "fair", "A=1 1 1 1, B=1 1, C=1", "A1 B1 C1 A2 B2 A3 A4"},
		{"Kubernetes, by time", "fair:scheduler=sfq", "A=100 100 100, B=20 20 20 20 20 20 20", "A1 B1 B2 B3 B4 B5 A2 B6 B7 A3"},
		{"by count, whatever they cost", "fair:scheduler=sfq,unit=requests", "A=100 100 100, B=20 20 20 20 20 20 20", "A1 B1 A2 B2 A3 B3 B4 B5 B6 B7"},
		{"by count in rounds", "fair:unit=requests", "A=100 100 100, B=20 20 20 20", "A1 B1 A2 B2 A3 B3 B4"},
	} {
		o := makeOrder(t, tt.spec)
		names := queue(t, o, tt.queue)
		if got := served(o, names); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

func TestFairBy(t *testing.T) {
	requests := []protection.Request{ // by tenant, class and client
		{Tenant: "x", Class: 0, Client: 7},
		{Tenant: "x", Class: 1, Client: 7},
		{Tenant: "y", Class: 0, Client: 7},
		{Tenant: "x", Class: 0, Client: 8},
		{Tenant: "x", Class: 1, Client: 7},
	}
	for spec, want := range map[string][]uint64{
		"fair:by=tenant":                        {0, 2, 1, 3, 4},
		"fair:by=class":                         {0, 1, 2, 4, 3},
		"fair:by=client":                        {0, 3, 1, 2, 4},
		"fair:by=tenant,weights={x: 3}":         {0, 1, 3, 2, 4},
		"fair:by=class,weights={browse: 2}":     {0, 2, 1, 3, 4},
		"fair:by=client,weights={7: 2; 8: 0.5}": {0, 1, 2, 4, 3},
	} {
		o := makeOrder(t, spec)
		for i, r := range requests {
			r.ID, r.Cost, r.Arrived = uint64(i), 1, time.Duration(i)
			o.Push(r.Arrived, &r)
		}
		if got := popAll(o, 9, 0); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

func TestFairWeightsOfNobody(t *testing.T) {
	for knobs, want := range map[string]string{
		"by=class,weights={chekout: 2}":        "weights.chekout is of no class: want one of browse, checkout",
		"by=client,weights={first: 2}":         "weights.first is of no client: want the number of a client",
		"by=client,weights={-1: 2}":            "weights.-1 is of no client: want the number of a client",
		"weights={b: 0; a: -1}":                "weights.a is -1: want a weight from 1e-6 to 1e9\nweights.b is 0: want a weight from 1e-6 to 1e9",
		"quantum=0,weights={b: 1e10}":          "quantum is 0: want a cost from 1e-6 to 1e9\nweights.b is 1e+10: want a weight from 1e-6 to 1e9",
		"by=host,scheduler=wfq,push_out=first": "by is \"host\": want one of tenant, class, client\nscheduler is \"wfq\": want one of drr, sfq\npush_out is \"first\": want oldest, newest or none",
	} {
		if _, err := newOrder("fair:" + knobs); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", knobs, err, want)
		}
	}
}

// TestDeficitEndsWithTheQueue: a flow does not save up while nothing of it waits.
func TestDeficitEndsWithTheQueue(t *testing.T) {
	o := makeOrder(t, "fair:quantum=10")
	busy := protection.Load{Running: 1}
	of(o, 1, 0, "A", 1) // leaves 9 of its quantum
	o.Pop(0, busy)
	for id := range uint64(4) {
		of(o, 10+id, 1, "A", 6)
		of(o, 20+id, 1, "B", 6)
	}
	var got []uint64
	for o.Len() > 0 {
		got = append(got, o.Pop(1, busy).ID)
	}
	// With 10 a round, each serves one of 6, then two, of 4+10=14, and so on.
	if want := []uint64{10, 20, 11, 12, 21, 22, 13, 23}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTurnStaysOpen: a turn goes on where it was, whatever comes in between, and a
// flow that joins meanwhile is served before the turn comes round again.
func TestTurnStaysOpen(t *testing.T) {
	o := makeOrder(t, "fair:quantum=3")
	busy := protection.Load{Running: 1}
	for id := range uint64(5) {
		of(o, id, 0, "A", 1)
	}
	got := []uint64{o.Pop(0, busy).ID}
	of(o, 20, 0, "B", 3)
	for range 3 {
		got = append(got, o.Pop(0, busy).ID)
	}
	of(o, 30, 0, "C", 3)
	got = append(got, popAll(o, 0, 0)...)
	if want := []uint64{0, 1, 2, 20, 3, 4, 30}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStartTimeAfterIdleness: what a flow had before the server was idle is
// forgiven; what it had while others only did not wait is not.
func TestStartTimeAfterIdleness(t *testing.T) {
	play := func(idle bool) string {
		o := makeOrder(t, "fair:scheduler=sfq")
		of(o, 0, 0, "A", 10)
		o.Pop(0, protection.Load{Waiting: 1}) // alone: virtual time begins
		running := 1
		if idle {
			running = 0
		}
		of(o, 1, 5, "C", 1)
		o.Pop(5, protection.Load{Waiting: 1, Running: running})
		names := map[uint64]string{2: "A", 3: "B", 4: "B"}
		of(o, 2, 6, "A", 1)
		of(o, 3, 7, "B", 1)
		of(o, 4, 8, "B", 1)
		return served(o, names)
	}
	if got, want := play(false), "B B A"; got != want {
		t.Errorf("busy in between: %s, want %s", got, want)
	}
	if got, want := play(true), "A B B"; got != want {
		t.Errorf("idle in between: %s, want %s", got, want)
	}
}

// roundRobin is the published pseudo-code of deficit round robin, with the one
// thing added that it leaves to its caller: that a turn can be interrupted.
type roundRobin struct {
	quantum float64
	weights map[string]float64
	queues  map[string][]*protection.Request
	deficit map[string]float64
	active  []string
	open    string
}

func (m *roundRobin) grant(tenant string) float64 {
	if w, ok := m.weights[tenant]; ok {
		return m.quantum * w
	}
	return m.quantum
}

func (m *roundRobin) push(r *protection.Request) {
	if len(m.queues[r.Tenant]) == 0 {
		m.deficit[r.Tenant] = 0
		m.active = append(m.active, r.Tenant)
	}
	m.queues[r.Tenant] = append(m.queues[r.Tenant], r)
}

func (m *roundRobin) pop() *protection.Request {
	for {
		if m.open == "" {
			m.open, m.active = m.active[0], m.active[1:]
			m.deficit[m.open] += m.grant(m.open)
		}
		f := m.open
		if r := m.queues[f][0]; r.Cost <= m.deficit[f] {
			m.deficit[f] -= r.Cost
			m.queues[f] = m.queues[f][1:]
			switch {
			case len(m.queues[f]) == 0:
				m.open = ""
			case m.queues[f][0].Cost > m.deficit[f]:
				m.open, m.active = "", append(m.active, f)
			}
			return r
		}
		m.open, m.active = "", append(m.active, f)
	}
}

func (m *roundRobin) remove(r *protection.Request) {
	f := r.Tenant
	m.queues[f] = slices.DeleteFunc(m.queues[f], func(x *protection.Request) bool { return x == r })
	if len(m.queues[f]) > 0 {
		return
	}
	if m.open == f {
		m.open = ""
	} else {
		m.active = slices.DeleteFunc(m.active, func(x string) bool { return x == f })
	}
}

// startTime is start-time fair queueing with tags for each request, as published.
// One that leaves unserved hands its tags on to those behind it.
type startTime struct {
	weights map[string]float64
	waiting []*protection.Request
	start   map[*protection.Request]float64
	finish  map[string]float64
	now     float64
	joined  time.Duration
}

func (m *startTime) cost(r *protection.Request) float64 {
	if w, ok := m.weights[r.Tenant]; ok {
		return r.Cost / w
	}
	return r.Cost
}

// tag gives the requests of a tenant their tags anew, the first starting at the
// instant given.
func (m *startTime) tag(tenant string, start float64) {
	for _, r := range m.waiting {
		if r.Tenant == tenant {
			m.start[r] = start
			start += m.cost(r)
		}
	}
}

func (m *startTime) first(tenant string) *protection.Request {
	i := slices.IndexFunc(m.waiting, func(r *protection.Request) bool { return r.Tenant == tenant })
	if i < 0 {
		return nil
	}
	return m.waiting[i]
}

func (m *startTime) push(r *protection.Request) {
	first := m.first(r.Tenant)
	m.waiting = append(m.waiting, r)
	if first != nil {
		m.tag(r.Tenant, m.start[first])
		return
	}
	m.joined = r.Arrived
	m.tag(r.Tenant, max(m.now, m.finish[r.Tenant]))
}

func (m *startTime) pop(now time.Duration, running int) *protection.Request {
	r := slices.MinFunc(m.waiting, func(a, b *protection.Request) int {
		return cmp.Or(cmp.Compare(m.start[a], m.start[b]), cmp.Compare(a.ID, b.ID))
	})
	if len(m.waiting) == 1 && running == 0 && m.joined == now {
		m.now, m.start[r] = 0, 0
		clear(m.finish)
	}
	m.now = m.start[r]
	m.finish[r.Tenant] = m.start[r] + m.cost(r)
	m.waiting = slices.DeleteFunc(m.waiting, func(x *protection.Request) bool { return x == r })
	return r
}

func (m *startTime) remove(r *protection.Request) {
	start := m.start[m.first(r.Tenant)]
	m.waiting = slices.DeleteFunc(m.waiting, func(x *protection.Request) bool { return x == r })
	m.tag(r.Tenant, start)
}

// TestFairModels compares both schedulers with the published algorithms, written
// down plainly. All numbers are such that sums of them are exact.
func TestFairModels(t *testing.T) {
	weights := map[string]float64{"a": 2, "c": 0.25}
	type model interface {
		push(*protection.Request)
		remove(*protection.Request)
	}
	for _, spec := range []string{"fair:quantum=0.25", "fair:quantum=1", "fair:quantum=8", "fair:scheduler=sfq"} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				knobs := ",weights={a: 2; c: 0.25}"
				o := makeOrder(t, spec+knobs)
				robin := &roundRobin{weights: weights, queues: map[string][]*protection.Request{}, deficit: map[string]float64{}}
				start := &startTime{weights: weights, start: map[*protection.Request]float64{}, finish: map[string]float64{}}
				var m model = start
				if at, isRobin := strings.CutPrefix(spec, "fair:quantum="); isRobin {
					robin.quantum, _ = strconv.ParseFloat(at, 64)
					m = robin
				}
				var waiting []*protection.Request
				var now time.Duration
				var id uint64
				t.Repeat(map[string]func(*rapid.T){
					"push": func(t *rapid.T) {
						id++
						now++
						tenant := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "tenant")
						cost := rapid.SampledFrom([]float64{1, 1, 0.5, 3.25, 8}).Draw(t, "cost")
						r := of(o, id, now, tenant, cost)
						waiting = append(waiting, r)
						m.push(r)
					},
					"evict": func(t *rapid.T) {
						r := &protection.Request{Tenant: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "tenant"), Cost: 1}
						length := map[string]float64{}
						for _, x := range append(waiting, r) {
							length[x.Tenant] += start.cost(x)
						}
						own := length[r.Tenant]
						length[r.Tenant] -= start.cost(r)
						longest := slices.Max(slices.Collect(maps.Values(length)))
						v := o.(order.Evictor).Evict(now, r)
						if v == nil && longest > own {
							t.Fatalf("pushed out nobody of %v for %s", length, r.Tenant)
						}
						if v != nil && (longest <= own || length[v.Tenant] != longest || v != waiting[slices.IndexFunc(waiting, func(x *protection.Request) bool { return x.Tenant == v.Tenant })]) {
							t.Fatalf("pushed out %d of %v for %s", v.ID, length, r.Tenant)
						}
					},
					"remove": func(t *rapid.T) {
						if len(waiting) == 0 {
							t.Skip("nothing waits")
						}
						r := rapid.SampledFrom(waiting).Draw(t, "which")
						waiting = slices.DeleteFunc(waiting, func(x *protection.Request) bool { return x == r })
						o.Remove(r)
						m.remove(r)
					},
					"pop": func(t *rapid.T) {
						if len(waiting) == 0 {
							t.Skip("nothing waits")
						}
						if rapid.IntRange(0, 3).Draw(t, "later") == 0 {
							now++
						}
						running := rapid.IntRange(0, 1).Draw(t, "running")
						got := o.Pop(now, protection.Load{Waiting: len(waiting), Running: running})
						var want *protection.Request
						if m == model(robin) {
							want = robin.pop()
						} else {
							want = start.pop(now, running)
						}
						if got != want {
							t.Fatalf("popped %d of %s, want %d of %s", got.ID, got.Tenant, want.ID, want.Tenant)
						}
						waiting = slices.DeleteFunc(waiting, func(x *protection.Request) bool { return x == got })
					},
				})
			})
		})
	}
}

// TestFairShares: of two flows that always wait, neither gets ahead of the other,
// for their weights, by more than the published bound.
func TestFairShares(t *testing.T) {
	const most = 10.0
	rapid.Check(t, func(t *rapid.T) {
		wa, wb := rapid.Float64Range(0.1, 10).Draw(t, "weight of a"), rapid.Float64Range(0.1, 10).Draw(t, "weight of b")
		quantum := rapid.Float64Range(0.1, 20).Draw(t, "quantum")
		bound := most/wa + most/wb
		spec := fmt.Sprintf("fair:weights={a: %v; b: %v},quantum=%v", wa, wb, quantum)
		if rapid.Bool().Draw(t, "start time") {
			spec += ",scheduler=sfq"
		} else {
			bound += quantum
		}
		o := makeOrder(t, spec)
		costs := rapid.SliceOfN(rapid.Float64Range(0.1, most), 1, 20).Draw(t, "costs")
		var id uint64
		more := func(tenant string) {
			of(o, id, time.Duration(id), tenant, costs[id%uint64(len(costs))])
			id++
		}
		more("a")
		more("a")
		more("b")
		more("b")
		var a, b float64
		for range 300 {
			r := o.Pop(0, protection.Load{Running: 1})
			if r.Tenant == "a" {
				a += r.Cost / wa
			} else {
				b += r.Cost / wb
			}
			if d := math.Abs(a - b); d > bound*(1+1e-9) {
				t.Fatalf("%s: served %v and %v, apart by more than %v", spec, a, b, bound)
			}
			more(r.Tenant)
		}
	})
}

// TestRoundsAreReckoned: what would take more rounds than can be made is served
// at once, in the same order.
func TestRoundsAreReckoned(t *testing.T) {
	o := makeOrder(t, "fair:quantum=1e-6,weights={A: 1e-6; B: 1e9}")
	names := queue(t, o, "A=1 1e300, B=3 1e300 1, C=1e12")
	// B has 1000 a round, C 1e-6 and A 1e-12. A cost beyond 1e12 counts as that.
	if got, want := served(o, names), "B1 B2 B3 A1 C1 A2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSavedForOneThatLeft: a flow may spend on the next what it was granted for a
// dear request that left unserved.
func TestSavedForOneThatLeft(t *testing.T) {
	o := makeOrder(t, "fair")
	of(o, 0, 0, "A", 3)
	of(o, 1, 0, "B", 4)
	of(o, 2, 0, "C", 4)
	dear := of(o, 3, 0, "D", 9)
	for id := range uint64(4) {
		of(o, 4+id, 0, "D", 1)
	}
	got := []uint64{o.Pop(0, protection.Load{Running: 1}).ID} // in the third round; D has had two
	o.Remove(dear)
	got = append(got, popAll(o, 0, 0)...)
	if want := []uint64{0, 4, 5, 6, 1, 2, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestFairPushOut(t *testing.T) {
	for _, tt := range []struct{ name, spec, queue, tenant, want string }{
		{"the oldest of the longest", "fair", "A=1 1 1, B=1", "C", "A1"},
		{"the newest of the longest", "fair:push_out=newest", "A=1 1 1, B=1", "C", "A3"},
		{"nobody", "fair:push_out=none", "A=1 1 1, B=1", "C", ""},
		{"for one that stays shorter", "fair", "A=1 1 1, B=1", "B", "A1"},
		{"not for one that becomes as long", "fair", "A=1 1, B=1", "B", ""},
		{"not for its own", "fair", "A=1 1 1, B=1", "A", ""},
		{"not where all are alike", "fair", "A=1, B=1", "C", ""},
		{"by cost", "fair", "A=1 1 1, B=5", "C", "B1"},
		{"by requests", "fair:unit=requests", "A=1 1 1, B=5", "C", "A1"},
		{"for its weight", "fair:weights={A: 4}", "A=1 1 1, B=1 1", "C", "B1"},
		{"for the newcomer's weight", "fair:weights={C: 0.1}", "A=1 1 1, B=1", "C", ""},
		{"none waits", "fair", "", "C", ""},
	} {
		o := makeOrder(t, tt.spec)
		names := queue(t, o, tt.queue)
		got := ""
		if v := o.(order.Evictor).Evict(0, &protection.Request{Tenant: tt.tenant, Cost: 1}); v != nil {
			got = names[v.ID]
		}
		if got != tt.want {
			t.Errorf("%s: pushed out %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestFairLengthsDoNotDrift: what sums of costs lose in rounding goes when the queue is empty.
func TestFairLengthsDoNotDrift(t *testing.T) {
	o := makeOrder(t, "fair:scheduler=sfq")
	of(o, 0, 0, "A", 1e12)
	of(o, 1, 0, "A", 1e-4)
	for range 2 {
		o.Pop(0, protection.Load{Running: 1})
	}
	of(o, 2, 1, "A", 1)
	if v := o.(order.Evictor).Evict(1, &protection.Request{Tenant: "B", Cost: 1}); v != nil {
		t.Errorf("pushed out %d for one that would be as long", v.ID)
	}
}

// TestArrivalOfTheNext: of equal starts the earliest arrival is served, also when
// the first of a queue has left it.
func TestArrivalOfTheNext(t *testing.T) {
	o := makeOrder(t, "fair:scheduler=sfq")
	first := of(o, 1, 1, "A", 1)
	of(o, 2, 2, "B", 1)
	of(o, 3, 3, "A", 1)
	o.Remove(first)
	if got := popAll(o, 4, 0); !slices.Equal(got, []uint64{2, 3}) {
		t.Errorf("%v, want [2 3]", got)
	}
}

func TestFairPushOutSparesProtected(t *testing.T) {
	for spec, want := range map[string]uint64{"fair": 1, "fair:push_out=newest": 2} {
		o := makeOrder(t, spec)
		for id := range uint64(4) {
			o.Push(0, &protection.Request{ID: id, Cost: 1, Tenant: "A", Protected: id == 0 || id == 3})
		}
		if v := o.(order.Evictor).Evict(0, &protection.Request{Tenant: "B", Cost: 1}); v == nil || v.ID != want {
			t.Errorf("%s: pushed out %v, want %d", spec, v, want)
		}
	}
}

// TestTenantsComeAndGo: memory goes with what waits, not with how many there ever were.
func TestTenantsComeAndGo(t *testing.T) {
	for _, spec := range []string{"fair", "fair:scheduler=sfq"} {
		o := makeOrder(t, spec)
		const atOnce = 50
		var now time.Duration
		for i := range uint64(20_000) {
			now++
			of(o, i, now, strconv.FormatUint(i, 10), 1)
			if o.Len() > atOnce {
				o.Pop(now, protection.Load{Waiting: o.Len(), Running: 1})
			}
		}
		most := atOnce + 1
		if spec != "fair" {
			most += order.MostResting + 1
		}
		if known, spare := order.Flows(o); known < atOnce || known+spare > most {
			t.Errorf("%s: %d flows known and %d spare, want %d in all at most", spec, known, spare, most)
		}
		for o.Len() > 0 {
			o.Pop(now, protection.Load{Waiting: o.Len(), Running: 1})
		}
		now++
		of(o, 0, now, "last", 1)
		o.Pop(now, protection.Load{Waiting: 1})
		if known, _ := order.Flows(o); known > 1 {
			t.Errorf("%s: %d flows known to an idle server", spec, known)
		}
	}
}

// TestCaughtUp: an empty flow is remembered until virtual time has passed what it had.
func TestCaughtUp(t *testing.T) {
	o := makeOrder(t, "fair:scheduler=sfq")
	of(o, 0, 0, "A", 2)
	for id := range uint64(5) {
		of(o, id+1, 0, "B", 1)
	}
	var got []int
	for o.Len() > 1 {
		o.Pop(0, protection.Load{Running: 1})
		known, _ := order.Flows(o)
		got = append(got, known)
	}
	if want := []int{2, 2, 2, 1, 1}; !slices.Equal(got, want) { // A finishes at 2, where B's third starts
		t.Errorf("%v flows known, want %v", got, want)
	}
}

// TestFairShields: behind one bound for all, a tenant that sends ten times what
// the server can do takes nothing from one that sends a third of it; without
// push-out the same queue is full of the first.
func TestFairShields(t *testing.T) {
	share := func(spec string) float64 {
		c := serverOf(t, spec, "queue_bound:count=20")
		good, sent := 0, 0
		var id uint64
		for tick := range time.Duration(3000) { // 1 ms each; the server does one in 10
			now := tick * ms
			send := func(tenant string) {
				id++
				c.Arrive(now, &protection.Request{ID: id, Tenant: tenant, Cost: 1, Work: 10 * ms, Arrived: now, Deadline: protection.Never})
			}
			send("greedy")
			if tick%30 == 0 {
				sent++
				send("modest")
			}
			for _, e := range c.Effects() {
				if e.Kind == server.Reply && e.R.Tenant == "modest" {
					good++
				}
			}
		}
		return float64(good) / float64(sent)
	}
	for spec, want := range map[string][2]float64{
		"fair":                           {0.97, 1},
		"fair:scheduler=sfq":             {0.97, 1},
		"fair:push_out=newest":           {0.97, 1},
		"fair:push_out=none":             {0, 0.3},
		"fifo":                           {0, 0.3},
		"fair:weights={greedy: 1000000}": {0, 0.3},
	} {
		if got := share(spec); got < want[0] || got > want[1] {
			t.Errorf("%s: %.2f of what the modest one sent was served, want %v", spec, got, want)
		}
	}
}
