package server_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// flood offers a load of constant gaps to a core and recycles the requests, as
// the virtual shell does.
type flood struct {
	core *server.Core
	free []*protection.Request
	rng  *rand.Rand

	at, gap, service, timeout time.Duration
	good, late, refused       uint64
}

func newFlood(tb testing.TB, s server.Spec, load float64, timeout time.Duration) *flood {
	tb.Helper()
	c, err := server.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	gap := time.Duration(float64(s.Service) / float64(s.Workers) / load)
	return &flood{core: c, rng: rand.New(rand.NewPCG(1, 2)), gap: gap, service: s.Service, timeout: timeout}
}

func (f *flood) arrive() {
	f.at += f.gap
	var r *protection.Request
	if n := len(f.free); n > 0 {
		r, f.free = f.free[n-1], f.free[:n-1]
	} else {
		r = new(protection.Request)
	}
	work := time.Duration(f.rng.ExpFloat64()*float64(f.service)) + 1
	r.ID++
	r.Cost, r.Work, r.Arrived, r.Deadline = 1, work, f.at, f.at+f.timeout
	f.core.Arrive(f.at, r)
	for _, e := range f.core.Effects() {
		switch {
		case e.Kind == server.Refuse:
			f.refused++
		case e.At <= e.R.Deadline:
			f.good++
		default:
			f.late++
		}
		f.free = append(f.free, e.R)
	}
}

func BenchmarkArrive(b *testing.B) {
	for _, bm := range []struct {
		name    string
		workers int
		order   string
		chain   []string
		load    float64
	}{
		{"fifo bounded 20 at 2x, 10 workers", 10, "fifo", []string{"queue_bound:count=20"}, 2},
		{"fifo bounded 200 at 2x", 100, "fifo", []string{"queue_bound:count=200"}, 2},
		{"fifo bounded by wait and deadline p95 at 2x", 100, "fifo", []string{"queue_bound:wait=50ms", "deadline:allowance=p95"}, 2},
		{"fifo deadline p95 at 2x", 100, "fifo", []string{"deadline:allowance=p95"}, 2},
		{"lifo deadline p95 at 2x", 100, "lifo", []string{"deadline:allowance=p95"}, 2},
		{"fifo unbounded at 2x", 100, "fifo", nil, 2},
		{"fifo rate at 10x", 100, "fifo", []string{"rate:rate=2000"}, 10},
		{"fifo at 0.5x", 100, "fifo", nil, 0.5},
	} {
		b.Run(bm.name, func(b *testing.B) {
			f := newFlood(b, server.Spec{Workers: bm.workers, Service: 50 * time.Millisecond, Order: orderNamed(bm.order), Chain: chainNamed(bm.chain...)}, bm.load, time.Second)
			for range 100_000 {
				f.arrive()
			}
			b.ReportAllocs()
			for b.Loop() {
				f.arrive()
			}
		})
	}
}
