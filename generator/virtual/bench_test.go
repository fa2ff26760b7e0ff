package virtual

import (
	"testing"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/server"
	"knee/target/work"
)

// surge is the shape of the default profile: 10 workers of 10 ms, Poisson
// arrivals, at load times capacity.
func surge(tb testing.TB, load float64, seconds time.Duration, chain ...server.Link) (*Driver, *plan.Plan) {
	tb.Helper()
	service, err := work.New(work.Spec{Kind: "exponential", Mean: 10 * time.Millisecond})
	if err != nil {
		tb.Fatal(err)
	}
	classes := []plan.Class{{Name: "all", Weight: 1, Criticality: 2, Cost: 1, Timeout: 100 * time.Millisecond, Deadline: 100 * time.Millisecond}}
	p, err := plan.New(plan.Spec{
		Seed:     1,
		Arrivals: plan.Poisson,
		Classes:  classes,
		Clients:  50,
		Work:     service,
		Phases:   []plan.Phase{{Kind: plan.Hold, Rate: load * 1000, For: seconds * time.Second}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	d, err := New(Options{
		Server: server.Spec{Workers: 10, Service: 10 * time.Millisecond, Order: newOrder("fifo"), Chain: chain},
		Client: client.Options{Classes: classes, Grace: 200 * time.Millisecond},
		Recorder: record.NewRecorder(record.RecorderOptions{
			Classes:    []string{"all"},
			MaxLatency: 300 * time.Millisecond,
		}),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return d, p
}

// Nothing is allocated per arrival: ten times as long a run allocates no more.
func TestRunAllocatesNothingPerArrival(t *testing.T) {
	allocs := func(seconds time.Duration) float64 {
		d, p := surge(t, 2, seconds, link("queue_bound", "wait: 50ms", 10, 10*time.Millisecond))
		return testing.AllocsPerRun(3, func() {
			if err := d.Run(t.Context(), 0, p); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := allocs(3), allocs(30); long > short+1 {
		t.Errorf("%v allocations in 3s of load, %v in 30s", short, long)
	}
}

// BenchmarkRun runs the default profile's shape with all that belongs to it:
// plan, client, core, records and windows. An iteration is an arrival.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name  string
		load  float64
		chain []server.Link
	}{
		{"bound count 2x", 2, []server.Link{link("queue_bound", "count: 50", 10, 10*time.Millisecond)}},
		{"bound wait 2x", 2, []server.Link{link("queue_bound", "wait: 50ms", 10, 10*time.Millisecond)}},
		{"bound wait 10x", 10, []server.Link{link("queue_bound", "wait: 50ms", 10, 10*time.Millisecond)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, p := surge(b, c.load, 50, c.chain...)
			n := int(p.Count())
			if err := d.Run(b.Context(), 0, p); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			done := 0
			for ; done < b.N; done += n {
				if err := d.Run(b.Context(), 0, p); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(done), "ns/arrival")
		})
	}
}
