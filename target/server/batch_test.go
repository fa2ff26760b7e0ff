package server_test

import (
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

func TestBatchWaitsToFill(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, Batch: server.Batch{Size: 3, Delay: 20 * ms, Overhead: 5 * ms}})
	c.Arrive(0, request(1, 0))
	c.Arrive(4*ms, request(2, 4*ms))
	c.Advance(19 * ms)
	wantEffects(t, c)
	c.Advance(60 * ms)
	wantEffects(t, c, told{server.Reply, 1, 45 * ms, ""}, told{server.Reply, 2, 45 * ms, ""}) // 20 + 5 + 2*10
	for id := range uint64(3) {
		c.Arrive(100*ms, request(id, 100*ms))
	}
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 0, 135 * ms, ""}, told{server.Reply, 1, 135 * ms, ""}, told{server.Reply, 2, 135 * ms, ""}) // full: at once
}

func TestABatchThatIsDueWaitsForAWorker(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 1, Batch: server.Batch{Size: 2, Delay: 5 * ms}})
	c.Arrive(0, request(1, 0))
	c.Arrive(0, request(2, 0)) // until 20 ms
	c.Arrive(8*ms, request(3, 8*ms))
	c.Advance(time.Second)
	wantEffects(t, c, told{server.Reply, 1, 20 * ms, ""}, told{server.Reply, 2, 20 * ms, ""}, told{server.Reply, 3, 30 * ms, ""})
}

// TestBatchesAmortizeTheirOverhead holds the worked example of 100 µs for a batch
// and 5 µs for each item: 105, 10 and 6 µs an item.
func TestBatchesAmortizeTheirOverhead(t *testing.T) {
	const us = time.Microsecond
	for _, tt := range []struct {
		size   int
		each   time.Duration // of a batch
		served uint64        // in one second
	}{
		{1, 105 * us, 9523},
		{20, 200 * us, 100_000},
		{100, 600 * us, 166_600}, // 1,666 full batches
		{1000, 5100 * us, 196_000},
	} {
		size := tt.size
		if size == 1 {
			size = 2 // of which there is one: a batch of one is no batch
		}
		c := newCore(t, server.Spec{Workers: 1, Batch: server.Batch{Size: size, Overhead: 100 * us}})
		arrive := func(id uint64) *protection.Request {
			r := request(id, 0)
			r.Work = 5 * us
			return r
		}
		if tt.size == 1 {
			c.Arrive(0, arrive(1))
			c.Advance(time.Second)
			if e := c.Effects(); len(e) != 1 || e[0].At != tt.each {
				t.Errorf("one item: %+v, want an answer after %v", e, tt.each)
			}
			continue
		}
		for id := range uint64(200_000) {
			c.Arrive(0, arrive(id))
		}
		c.Advance(time.Second)
		// The first arrival found a free worker, and made a batch of its own.
		if got := c.Counts().Served; got+uint64(tt.size) < tt.served || got > tt.served+1 {
			t.Errorf("batches of %d served %d in a second, want %d", tt.size, got, tt.served)
		}
	}
}

func TestBatchOutOfRange(t *testing.T) {
	for _, s := range []server.Spec{
		{Batch: server.Batch{Size: -1}},
		{Batch: server.Batch{Size: 2, Delay: -1}},
		{Batch: server.Batch{Size: 2, Overhead: -1}},
		{Batch: server.Batch{Size: 2}, External: true},
	} {
		s.Workers, s.Service, s.Order = 1, 10*ms, orderNamed("fifo")
		if _, err := server.New(s); err == nil {
			t.Errorf("%+v is taken", s.Batch)
		}
	}
}
