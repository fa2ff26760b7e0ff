package virtual

import (
	"math"
	"slices"
	"testing"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
	"knee/target/server"
	"knee/target/work"
)

// 100 workers of 50 ms, 2,400 constant arrivals per second for 30 s, a timeout
// of 1 s: capacity is 2,000. The numbers come from an independent simulation.
func TestConstantOverload(t *testing.T) {
	const workers, service = 100, 50 * ms
	perSecond := func(good ...uint64) []uint64 { return good }
	bounded := func(last uint64) []uint64 {
		g := perSecond(1900)
		for range 29 {
			g = append(g, 2000)
		}
		return append(g, last)
	}
	for _, c := range []struct {
		name   string
		chain  []server.Link
		want   record.Counts
		second []uint64 // good by the second in which they ended; 0 after that
	}{
		{
			"no bound", nil,
			record.Counts{Good: 11500, Late: 60500},
			perSecond(1900, 2000, 2000, 2000, 2000, 1600),
		},
		{
			"bound 200",
			[]server.Link{link("queue_bound", "count: 200", workers, service)},
			record.Counts{Good: 60200, Rejected: 11800},
			bounded(300),
		},
		{
			"bound 500",
			[]server.Link{link("queue_bound", "count: 500", workers, service)},
			record.Counts{Good: 60500, Rejected: 11500},
			bounded(600),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			classes := []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: time.Second, Deadline: time.Second}}
			w := newWorld(t, Options{
				Server: server.Spec{Workers: workers, Service: service, Order: newOrder("fifo"), Chain: c.chain},
				Client: client.Options{Classes: classes, Grace: time.Minute},
			})
			p := newPlan(t, plan.Spec{
				Classes: classes,
				Work:    constant(service),
				Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 2400, For: 30 * time.Second}},
			})
			if err := w.Run(t.Context(), 0, p); err != nil {
				t.Fatal(err)
			}
			c.want.Planned, c.want.Sent, c.want.Attempts = 72000, 72000, 72000
			if got := w.series.Total().Counts; got != c.want {
				t.Errorf("counts %+v, want %+v", got, c.want)
			}
			var second []uint64
			for i, n := range w.series.ByEnding() {
				if i%5 == 0 {
					second = append(second, 0)
				}
				second[i/5] += n.Good
			}
			for len(second) > 0 && second[len(second)-1] == 0 {
				second = second[:len(second)-1]
			}
			if !slices.Equal(second, c.second) {
				t.Errorf("good per second %v, want %v", second, c.second)
			}
		})
	}
}

// Poisson arrivals and exponential work of 50 ms on 100 workers wait as Erlang
// C says. The error allowed is four standard errors, taken from the means of
// stretches that are much longer than the queue remembers.
func TestErlangC(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		seconds int
		wait    float64 // mean, ms
		delayed float64 // share that waits
		error   float64 // largest relative standard error of the mean that tests anything
	}{
		{1600, 300, 0.0491, 0.0196, 0.15},
		{1900, 500, 5.0646, 0.5065, 0.10},
		{1980, 800, 44.138, 0.8828, 0.25},
	} {
		const stretches = 20
		var waits, delays [stretches]float64
		var n [stretches]float64
		i := 0
		o := Options{
			Server: server.Spec{Workers: 100, Service: 50 * ms, Order: newOrder("fifo"), Chain: []server.Link{
				probe{leave: func(e protection.End) {
					n[i]++
					waits[i] += float64(e.Waited) / float64(ms)
					if e.Waited > 0 {
						delays[i]++
					}
				}}.link(),
			}},
			Client: client.Options{Classes: []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: time.Hour, Deadline: time.Hour}}},
		}
		w := newWorld(t, o)
		dist, err := work.New(work.Spec{Kind: "exponential", Mean: 50 * ms})
		if err != nil {
			t.Fatal(err)
		}
		for i = range stretches {
			err := w.Run(t.Context(), i, newPlan(t, plan.Spec{
				Seed:     uint64(i),
				Arrivals: plan.Poisson,
				Classes:  o.Client.Classes,
				Work:     dist,
				Phases:   []plan.Phase{{Kind: plan.Hold, Rate: c.rate, For: time.Duration(c.seconds) * time.Second / stretches}},
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range stretches {
			waits[i] /= n[i]
			delays[i] /= n[i]
		}
		mean, spread := meanAndError(waits[:])
		if math.Abs(mean-c.wait) > 4*spread || spread > c.error*c.wait {
			t.Errorf("%v/s: waits %.4f ms, standard error %.4f: want %.4f, error at most %v of it", c.rate, mean, spread, c.wait, c.error)
		}
		share, spread := meanAndError(delays[:])
		if math.Abs(share-c.delayed) > 4*spread || spread > c.error*c.delayed {
			t.Errorf("%v/s: %.4f wait, standard error %.4f: want %.4f, error at most %v of it", c.rate, share, spread, c.delayed, c.error)
		}
	}
}

// meanAndError returns the mean of x and its standard error.
func meanAndError(x []float64) (mean, spread float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		spread += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(spread / (n - 1) / n)
}
