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
	constant                  bool
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
	work := f.service
	if !f.constant {
		work = time.Duration(f.rng.ExpFloat64()*float64(f.service)) + 1
	}
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
	const workers, service = 100, 50 * time.Millisecond
	for _, bm := range []struct {
		name  string
		order string
		chain []string
		load  float64
	}{
		{"fifo bounded 200 at 2x", "fifo", []string{"queue_bound:count=200"}, 2},
		{"fifo bounded by wait and deadline p95 at 2x", "fifo", []string{"queue_bound:wait=50ms", "deadline:allowance=p95"}, 2},
		{"fifo deadline p95 at 2x", "fifo", []string{"deadline:allowance=p95"}, 2},
		{"lifo deadline p95 at 2x", "lifo", []string{"deadline:allowance=p95"}, 2},
		{"fifo unbounded at 2x", "fifo", nil, 2},
		{"fifo rate at 10x", "fifo", []string{"rate:rate=2000"}, 10},
		{"fifo at 0.5x", "fifo", nil, 0.5},
	} {
		b.Run(bm.name, func(b *testing.B) {
			f := newFlood(b, server.Spec{Workers: workers, Service: service, Order: orderNamed(bm.order), Chain: chainNamed(bm.chain...)}, bm.load, time.Second)
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
