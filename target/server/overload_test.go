package server_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

func linkTo(p protection.Protection) server.Link {
	return server.Link{Kind: "test", New: func() (protection.Protection, error) { return p, nil }}
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
