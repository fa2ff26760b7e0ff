package server_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// span is what became of one arrival.
type span struct {
	arrived, started, ended time.Duration
	refused                 bool // or dropped
}

func (s span) failed(timeout time.Duration) bool { return s.refused || s.ended-s.arrived > timeout }

// journal offers load to a server, waits until it is empty, and returns what became
// of each arrival, in their order.
func journal(tb testing.TB, s server.Spec, timeout time.Duration, load func(yield func(arrival) bool)) []span {
	tb.Helper()
	c, err := server.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	var spans []span
	collect := func() {
		for _, e := range c.Effects() {
			x := &spans[e.R.ID]
			x.started, x.ended, x.refused = e.R.Started, e.At, e.Kind == server.Refuse
		}
	}
	for a := range load {
		id := uint64(len(spans))
		spans = append(spans, span{arrived: a.at})
		c.Arrive(a.at, &protection.Request{ID: id, Cost: 1, Work: a.work, Arrived: a.at, Deadline: a.at + timeout})
		collect()
	}
	for c.Gauges(0).Admitted > 0 && c.Next() != protection.Never { // a protection may tick for ever
		c.Advance(c.Next())
		collect()
	}
	return spans
}

// phase is a constant rate that lasts until an instant.
type phase struct {
	until time.Duration
	rate  int
}

// phases yields constant arrivals at the rate of each phase.
func phases(work time.Duration, all ...phase) func(yield func(arrival) bool) {
	return func(yield func(arrival) bool) {
		var from time.Duration
		for _, p := range all {
			for k := 0; ; k++ {
				at := from + time.Duration(k)*time.Second/time.Duration(p.rate)
				if at >= p.until {
					break
				}
				if !yield(arrival{at, work}) {
					return
				}
			}
			from = p.until
		}
	}
}

// orderSpelt returns the constructor of an order, NAME[:knob=value,…].
func orderSpelt(spec string) func() (order.Order, error) {
	name, knobs, _ := strings.Cut(spec, ":")
	return func() (order.Order, error) {
		i, err := order.Registry.Lookup(name)
		if err != nil {
			return nil, err
		}
		k := i.Knobs()
		setKnobs(k, knobs)
		return i.New(order.Setup{}, k)
	}
}

// shapes are the two servers of 2,000/s that the reference was made for.
var shapes = []struct {
	name    string
	workers int
	service time.Duration
}{
	{"1 worker of 500µs", 1, 500 * time.Microsecond},
	{"100 workers of 50ms", 100, 50 * ms},
}

// TestReferenceTable offers 2,400/s for 30 s, at k/2400 s, to 2,000/s of capacity,
// with callers that wait 1 s. The nine policies of the reference look at a request
// only when it leaves the queue, which is what sweep=false is for; the rows that
// are swept show what the sweep adds: the same answers from a shorter queue, and
// drops that are seen when they happen. All numbers are exact.
func TestReferenceTable(t *testing.T) {
	const timeout = time.Second
	type row struct {
		good, late, no, peak int
		longest, first       time.Duration // longest wait of what was served, to 0.1 ms, and the first refusal or drop; 0: not in the reference
	}
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	for _, tt := range []struct {
		name         string
		order, chain string
		one, hundred row
	}{
		{
			"fifo, unbounded", "fifo", "",
			row{11_995, 60_005, 0, 12_000, us(5_999_900), 0},
			row{11_500, 60_500, 0, 12_000, 0, 0},
		},
		{
			"fifo, bound 200", "fifo", "queue_bound:count=200",
			row{60_200, 0, 11_800, 200, us(100_000), 0},
			row{60_200, 0, 11_800, 200, 0, 0},
		},
		{
			"fifo, bound from 100 ms", "fifo", "queue_bound:count_from=100ms",
			row{60_200, 0, 11_800, 200, us(100_000), 0},
			row{60_200, 0, 11_800, 200, 0, 0},
		},
		{
			"fifo, bound 500", "fifo", "queue_bound:count=500",
			row{60_500, 0, 11_500, 500, us(250_000), 0},
			row{60_500, 0, 11_500, 500, 0, 0},
		},
		{
			"deadline without allowance", "fifo:sweep=false", "deadline:allowance=0",
			row{11_995, 50_005, 10_000, 2_400, us(999_900), 0},
			row{11_500, 50_500, 10_000, 2_419, 0, 0},
		},
		{
			"deadline with the service time", "fifo:sweep=false", "deadline:allowance=SERVICE",
			row{61_999, 0, 10_001, 2_399, us(999_500), 0},
			row{61_900, 0, 10_100, 2_300, 0, 0},
		},
		{
			"codel of RFC 8289", "fifo:sweep=false", "codel",
			row{60_270, 0, 11_730, 1_595, us(664_200), us(130_000)},
			row{60_356, 0, 11_644, 1_605, 0, us(150_000)},
		},
		{
			"codel of folly", "fifo:sweep=false", "codel:variant=folly",
			row{60_020, 0, 11_980, 81, us(33_600), us(202_000)},
			row{60_024, 0, 11_976, 80, 0, us(201_667)},
		},
		{
			"codel of Maurer", "fifo:sweep=false", "codel:variant=maurer",
			row{60_010, 0, 11_990, 50, us(20_500), us(123_500)},
			row{60_011, 0, 11_989, 60, 0, us(167_083)},
		},
		{
			"codel of Maurer, adaptive lifo", "adaptive_lifo:sweep=false", "codel:variant=maurer",
			row{60_002, 0, 11_998, 12_000, us(17_100), us(30_001_000)},
			row{60_006, 0, 11_994, 12_000, 0, us(30_002_500)},
		},

		{
			"swept: deadline without allowance", "fifo", "deadline:allowance=0",
			row{11_995, 50_005, 10_000, 2_400, us(999_900), us(6_000_000)},
			row{11_500, 50_500, 10_000, 2_400, us(999_583), us(6_000_000)},
		},
		{
			"swept: deadline with the service time", "fifo", "deadline:allowance=SERVICE",
			row{61_999, 0, 10_001, 2_399, us(999_500), us(5_997_417)},
			row{61_900, 0, 10_100, 2_281, us(950_000), us(5_741_667)},
		},
		{
			"swept: codel of Maurer", "fifo", "codel:variant=maurer",
			row{60_010, 0, 11_990, 43, us(20_500), us(107_917)},
			row{60_011, 0, 11_989, 53, us(25_000), us(147_083)},
		},
		{
			"swept: codel of Maurer, adaptive lifo", "adaptive_lifo", "codel:variant=maurer",
			row{60_002, 0, 11_998, 44, us(17_100), us(110_000)},
			row{60_047, 0, 11_953, 53, us(44_600), us(147_083)},
		},
	} {
		for i, shape := range shapes {
			t.Run(tt.name+"/"+shape.name, func(t *testing.T) {
				t.Parallel()
				want := []row{tt.one, tt.hundred}[i]
				var chain []server.Link
				if tt.chain != "" {
					chain = chainNamed(strings.ReplaceAll(tt.chain, "SERVICE", shape.service.String()))
				}
				o := drive(t, server.Spec{
					Workers: shape.workers, Service: shape.service, Order: orderSpelt(tt.order), Chain: chain,
				}, timeout, even(72_000, 2_400, shape.service))
				got := row{o.good, o.late, o.refused + o.dropped, o.peak, o.longestWait, o.firstNo}
				if got.good != want.good || got.late != want.late || got.no != want.no || got.peak != want.peak ||
					want.longest > 0 && (got.longest-want.longest).Abs() > us(100) ||
					want.first > 0 && (got.first-want.first).Abs() > time.Microsecond {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		}
	}
}

// TestPeakQueueByLoad offers 2,000/s of capacity more and more for 20 s. The queue
// of CoDel grows as the square of the surplus, and what is good in the tenth second
// with it; the other rules keep their queues in proportion.
func TestPeakQueueByLoad(t *testing.T) {
	const service = 500 * time.Microsecond
	for _, tt := range []struct {
		name         string
		order, chain string
		peaks        [4]int // at 2,400, 3,000, 4,000 and 6,000/s
		good         [4]int // in the tenth second
	}{
		{"deadline with the service time", "fifo:sweep=false", "deadline:allowance=500us", [4]int{2399, 2999, 3999, 5999}, [4]int{2000, 2000, 2000, 2000}},
		{"codel of RFC 8289", "fifo:sweep=false", "codel", [4]int{1595, 9970, 29_964, 69_962}, [4]int{2000, 0, 0, 0}},
		{"codel of folly", "fifo:sweep=false", "codel:variant=folly", [4]int{81, 202, 404, 808}, [4]int{2000, 2000, 2000, 2000}},
		{"codel of Maurer", "fifo:sweep=false", "codel:variant=maurer", [4]int{50, 152, 400, 601}, [4]int{2000, 2000, 2000, 2000}},
		{"codel of Maurer, adaptive lifo", "adaptive_lifo:sweep=false", "codel:variant=maurer", [4]int{8000, 20_000, 40_000, 80_000}, [4]int{2000, 2000, 2000, 2000}},
		{"swept: codel of Maurer", "fifo", "codel:variant=maurer", [4]int{43, 106, 211, 421}, [4]int{2000, 2000, 2000, 2000}},
	} {
		for i, rate := range []int{2400, 3000, 4000, 6000} {
			t.Run(tt.name+"/"+strconv.Itoa(rate), func(t *testing.T) {
				t.Parallel()
				got := drive(t, server.Spec{Workers: 1, Service: service, Order: orderSpelt(tt.order), Chain: chainNamed(tt.chain)},
					time.Second, even(20*rate, rate, service))
				good := 0
				if len(got.goodBySecond) > 10 {
					good = got.goodBySecond[10]
				}
				if got.peak != tt.peaks[i] || good != tt.good[i] {
					t.Errorf("peak %d with %d good in second 10, want %d with %d", got.peak, good, tt.peaks[i], tt.good[i])
				}
			})
		}
	}
}

// TestCodelDropsBySecond holds the law behind that: against callers that do not slow
// down, CoDel has dropped about (t/2I)² requests by t, whatever the surplus.
func TestCodelDropsBySecond(t *testing.T) {
	const service = 500 * time.Microsecond
	for rate, want := range map[int][9]int{
		2400: {26, 76, 125, 176, 226, 276, 325, 376, 426},
		6000: {27, 77, 127, 177, 227, 276, 327, 377, 427},
	} {
		var drops [9]int
		for _, s := range journal(t, server.Spec{Workers: 1, Service: service, Order: orderNamed("fifo"), Chain: chainNamed("codel")},
			time.Second, even(12*rate, rate, service)) {
			if n := int(s.ended / time.Second); s.refused && n < len(drops) {
				drops[n]++
			}
		}
		if drops != want {
			t.Errorf("at %d/s: drops %v by second, want %v", rate, drops, want)
		}
	}
}

// extent returns the first and the last arrival that failed, and how many did.
func extent(spans []span, timeout time.Duration) (first, last time.Duration, n int) {
	first = protection.Never
	for _, s := range spans {
		if s.failed(timeout) {
			first, last = min(first, s.arrived), s.arrived
			n++
		}
	}
	return first, last, n
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// TestTatkal is the worked example of a booking office: 200 workers of 50 ms, 3,000/s
// for most of the day and 6,000/s for ten seconds, and callers that wait 2 s.
func TestTatkal(t *testing.T) {
	const timeout, service = 2 * time.Second, 50 * ms
	load := phases(service, phase{10 * time.Second, 6000}, phase{40 * time.Second, 3000})
	spec := server.Spec{Workers: 200, Service: service, Order: orderNamed("fifo")}

	t.Run("unbounded", func(t *testing.T) {
		spans := journal(t, spec, timeout, load)
		first, last, n := extent(spans, timeout)
		// By the wait alone it were 72,000 from 4 to 22 s; serving takes part of the 2 s.
		if !near(first.Seconds(), 3.9, 0.01) || !near(last.Seconds(), 22.2, 0.01) || !near(float64(n), 73_200, 0.01) {
			t.Errorf("%d fail, from %v to %v; want 73,200, from 3.9 to 22.2 s", n, first, last)
		}
		var queue int
		var empty time.Duration
		for _, s := range spans {
			if s.arrived <= 10*time.Second && s.started > 10*time.Second {
				queue++
			}
			if s.started > s.arrived {
				empty = s.arrived
			}
		}
		if !near(float64(queue), 20_000, 0.01) || !near(empty.Seconds(), 30, 0.01) {
			t.Errorf("%d wait at 10 s, and the queue is empty at %v; want 20,000 and 30 s", queue, empty)
		}
	})
	t.Run("bounded", func(t *testing.T) {
		spec := spec
		spec.Chain = chainNamed("queue_bound:count=1000")
		refused, firstNo, longest, drained := 0, protection.Never, time.Duration(0), time.Duration(0)
		for _, s := range journal(t, spec, timeout, load) {
			if s.refused {
				refused++
				firstNo = min(firstNo, s.arrived)
				continue
			}
			longest = max(longest, s.ended-s.arrived)
			if s.started > s.arrived {
				drained = s.arrived
			}
		}
		if !near(float64(refused), 19_000, 0.01) || !near(firstNo.Seconds(), 0.5, 0.1) {
			t.Errorf("%d refused, from %v on; want 19,000, from 0.5 s", refused, firstNo)
		}
		if !near(longest.Seconds(), 0.3, 0.01) || !near(drained.Seconds(), 11, 0.01) {
			t.Errorf("the slowest answer took %v, and the queue was empty at %v; want 300 ms and 11 s", longest, drained)
		}
	})
}

// TestStaleFrom holds when 1.2 times capacity begins to be in vain, with callers
// that wait 1 s: it is not what is dequeued, but what arrives, from 5 s on.
func TestStaleFrom(t *testing.T) {
	const timeout = time.Second
	for i, want := range []struct{ arrival, dequeue float64 }{{5, 6}, {4.75, 5.7}} {
		shape := shapes[i]
		t.Run(shape.name, func(t *testing.T) {
			spans := journal(t, server.Spec{Workers: shape.workers, Service: shape.service, Order: orderNamed("fifo")},
				timeout, even(10*2400, 2400, shape.service))
			first, _, _ := extent(spans, timeout)
			dequeue := protection.Never
			for _, s := range spans {
				if s.failed(timeout) {
					dequeue = min(dequeue, s.started)
				}
			}
			if !near(first.Seconds(), want.arrival, 0.01) || !near(dequeue.Seconds(), want.dequeue, 0.01) {
				t.Errorf("in vain from the arrival at %v and the dequeue at %v, want %v and %v s", first, dequeue, want.arrival, want.dequeue)
			}
		})
	}
}

// TestBacklog is 7,000/s that become 14,000/s for 5 s, at 10,000/s of capacity.
func TestBacklog(t *testing.T) {
	const service = 100 * time.Microsecond
	spans := journal(t, server.Spec{Workers: 1, Service: service, Order: orderNamed("fifo")}, time.Second,
		phases(service, phase{5 * time.Second, 14_000}, phase{15 * time.Second, 7_000}))
	first, last, n := extent(spans, time.Second)
	if !near(first.Seconds(), 2.5, 0.01) || !near(last.Seconds(), 8.333, 0.01) || !near(float64(n), 58_333, 0.01) {
		t.Errorf("%d fail, from %v to %v; want 58,333, from 2.5 to 8.333 s", n, first, last)
	}
	waiting := func(at time.Duration) (n int) {
		for _, s := range spans {
			if s.arrived < at && s.started >= at {
				n++
			}
		}
		return n
	}
	for at, want := range map[time.Duration]float64{1: 4_000, 3: 12_000, 5: 20_000, 6: 17_000, 10: 5_000} {
		if got := waiting(at * time.Second); !near(float64(got), want, 0.01) {
			t.Errorf("%d wait at %d s, want %v", got, at, want)
		}
	}
	var empty time.Duration
	for _, s := range spans {
		if s.started > s.arrived {
			empty = s.arrived
		}
	}
	if !near(empty.Seconds(), 11.667, 0.01) {
		t.Errorf("the backlog is gone at %v, want 11.667 s", empty)
	}
}
