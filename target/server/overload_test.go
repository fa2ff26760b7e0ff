package server_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// unswept undoes the expiry that earlier protections asked for, so that only
// the look at dequeue is left.
type unswept struct{}

func (unswept) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	r.Expires = protection.Never
	return ""
}

func (unswept) Leave(time.Duration, *protection.Request, protection.End) {}

func linkTo(p protection.Protection) server.Link {
	return server.Link{Kind: "test", New: func() (protection.Protection, error) { return p, nil }}
}

// TestConstantOverload offers 2,400/s for 30 s to 2,000/s of capacity, with
// callers that wait 1 s. The numbers are exact: those of a reference that looks
// at deadlines only at dequeue. (The sweep shortens the queue of 100 workers,
// which start in bursts, by the 19 dead requests that wait for a worker.)
func TestConstantOverload(t *testing.T) {
	const timeout = time.Second
	ms := func(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }
	for _, tt := range []struct {
		name        string
		workers     int
		service     time.Duration
		chain       []server.Link
		want        outcome
		longestWait time.Duration // to 0.1 ms; 0: not in the reference
	}{
		{"1 worker, unbounded", 1, ms(0.5), nil, outcome{good: 11_995, late: 60_005, peak: 12_000}, ms(5_999.9)},
		{"1 worker, bound 200", 1, ms(0.5), chainNamed("queue_bound:count=200"), outcome{good: 60_200, refused: 11_800, peak: 200}, ms(100)},
		{"1 worker, bound 500", 1, ms(0.5), chainNamed("queue_bound:count=500"), outcome{good: 60_500, refused: 11_500, peak: 500}, ms(250)},
		{"1 worker, deadline without allowance", 1, ms(0.5), chainNamed("deadline:allowance=0"), outcome{good: 11_995, late: 50_005, dropped: 10_000, peak: 2_400}, ms(999.9)},
		{"1 worker, deadline with the service time", 1, ms(0.5), chainNamed("deadline:allowance=500µs"), outcome{good: 61_999, dropped: 10_001, peak: 2_399}, ms(999.5)},
		{"100 workers, unbounded", 100, ms(50), nil, outcome{good: 11_500, late: 60_500, peak: 12_000}, 0},
		{"100 workers, bound 200", 100, ms(50), chainNamed("queue_bound:count=200"), outcome{good: 60_200, refused: 11_800, peak: 200}, 0},
		{"100 workers, bound 500", 100, ms(50), chainNamed("queue_bound:count=500"), outcome{good: 60_500, refused: 11_500, peak: 500}, 0},
		{"100 workers, deadline without allowance", 100, ms(50), chainNamed("deadline:allowance=0"), outcome{good: 11_500, late: 50_500, dropped: 10_000, peak: 2_400}, 0},
		{"100 workers, deadline with the service time", 100, ms(50), chainNamed("deadline:allowance=50ms"), outcome{good: 61_900, dropped: 10_100, peak: 2_281}, 0},
		{"100 workers, deadline without allowance, not swept", 100, ms(50), append(chainNamed("deadline:allowance=0"), linkTo(unswept{})), outcome{good: 11_500, late: 50_500, dropped: 10_000, peak: 2_419}, 0},
		{"100 workers, deadline with the service time, not swept", 100, ms(50), append(chainNamed("deadline:allowance=50ms"), linkTo(unswept{})), outcome{good: 61_900, dropped: 10_100, peak: 2_300}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := drive(t, server.Spec{
				Workers: tt.workers, Service: tt.service, Order: orderNamed("fifo"), Chain: tt.chain,
			}, timeout, even(72_000, 2_400, tt.service))
			if got.good != tt.want.good || got.late != tt.want.late || got.refused != tt.want.refused || got.dropped != tt.want.dropped || got.peak != tt.want.peak {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			if d := got.longestWait - tt.longestWait; tt.longestWait > 0 && d.Abs() > ms(0.1) {
				t.Errorf("longest wait %v, want %v", got.longestWait, tt.longestWait)
			}
		})
	}
}

// TestCollapseBySecond looks at the first finding: a deadline check that leaves
// no time for serving collapses as an unbounded queue does.
func TestCollapseBySecond(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rate  int
		chain []server.Link
		want  []int
	}{
		{"unbounded 1.2x", 2_400, nil, []int{1999, 2000, 2000, 2000, 2000, 1996}},
		{"no allowance 1.2x", 2_400, chainNamed("deadline:allowance=0"), []int{1999, 2000, 2000, 2000, 2000, 1996}},
		{"no allowance 2x", 4_000, chainNamed("deadline:allowance=0"), []int{1999, 2000}},
		{"no allowance 3x", 6_000, chainNamed("deadline:allowance=0"), []int{1999, 1000}},
		{"no allowance 10x", 20_000, chainNamed("deadline:allowance=0"), []int{1999, 223}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const service = 500 * time.Microsecond
			got := drive(t, server.Spec{
				Workers: 1, Service: service, Order: orderNamed("fifo"), Chain: tt.chain,
			}, time.Second, even(20*tt.rate, tt.rate, service))
			for s, n := range got.goodBySecond {
				want := 0
				if s < len(tt.want) {
					want = tt.want[s]
				}
				if n != want {
					t.Errorf("second %d: %d good, want %d", s, n, want)
				}
			}
		})
	}
}

// poisson yields arrivals at rate for d, each with a work drawn by draw.
func poisson(rate float64, d time.Duration, draw func(*rand.Rand) time.Duration) func(yield func(arrival) bool) {
	return func(yield func(arrival) bool) {
		gaps, works := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 2))
		for at := 0.0; ; {
			at += gaps.ExpFloat64() / rate * float64(time.Second)
			if time.Duration(at) > d || !yield(arrival{time.Duration(at), draw(works)}) {
				return
			}
		}
	}
}

func exponential(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return 1 + time.Duration(r.ExpFloat64()*float64(mean)) }
}

// TestRandomService holds the law of the first finding: with random service
// times, goodput is capacity times the share of requests that take no longer
// than the allowance.
func TestRandomService(t *testing.T) {
	const workers, service, capacity = 100, 50 * time.Millisecond, 2_000
	for _, tt := range []struct {
		name      string
		allowance string
		rate      float64
		law, tol  float64 // good per second; share of capacity
	}{
		{"none at 1.2x", "0", 2_400, 92, 0.02},
		{"none at 2x", "0", 4_000, 20, 0.01},
		{"mean at 1.2x", "50ms", 2_400, capacity * (1 - math.Exp(-1)), 0.02},
		{"mean at 2x", "50ms", 4_000, capacity * (1 - math.Exp(-1)), 0.02},
		{"2 means at 1.2x", "100ms", 2_400, capacity * (1 - math.Exp(-2)), 0.02},
		{"3 means at 1.2x", "150ms", 2_400, capacity * (1 - math.Exp(-3)), 0.02},
		{"3 means at 2x", "150ms", 4_000, capacity * (1 - math.Exp(-3)), 0.02},
		{"measured mean at 2x", "mean", 4_000, capacity * (1 - math.Exp(-1)), 0.03},
		{"measured p86.47 at 2x", "p86.47", 4_000, capacity * (1 - math.Exp(-2)), 0.03},
		{"measured p95 at 1.2x", "p95", 2_400, capacity * 0.95, 0.03},
		{"measured p95 at 2x", "p95", 4_000, capacity * 0.95, 0.03},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const from, to = 10, 30 // seconds
			got := drive(t, server.Spec{
				Workers: workers, Service: service, Order: orderNamed("fifo"), Chain: chainNamed("deadline:allowance=" + tt.allowance),
			}, time.Second, poisson(tt.rate, to*time.Second, exponential(service)))
			good := 0.0
			for s := from; s < min(to, len(got.goodBySecond)); s++ {
				good += float64(got.goodBySecond[s])
			}
			good /= to - from
			if math.Abs(good-tt.law) > tt.tol*capacity {
				t.Errorf("goodput %.0f/s, want %.0f/s", good, tt.law)
			}
		})
	}
}

// TestNoDeadTail holds the third finding's remedy: with an expiry, LIFO keeps
// what its callers may still want, and nothing else.
func TestNoDeadTail(t *testing.T) {
	const service = 500 * time.Microsecond
	spec := server.Spec{Workers: 1, Service: service, Order: orderNamed("lifo")}
	without := drive(t, spec, time.Second, even(48_000, 2_400, service))
	spec.Chain = chainNamed("deadline:allowance=500µs")
	with := drive(t, spec, time.Second, even(48_000, 2_400, service))
	if without.peak != 8_000 {
		t.Errorf("peak without expiry %d, want the whole excess, 8000", without.peak)
	}
	if with.peak > 401 {
		t.Errorf("peak with expiry %d, want at most the excess of one timeout, 400", with.peak)
	}
	if with.good < 39_900 {
		t.Errorf("%d good, want nearly all of 40000", with.good)
	}
}
