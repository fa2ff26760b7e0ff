package work_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"knee/generator/plan"
	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
	"knee/target/work"
)

const ms = time.Millisecond

// waits offers Poisson arrivals with work of the kind to a server that has one
// worker and no protections, at a share rho of its capacity. It returns the mean
// wait in the queue in multiples of the mean work, and the standard error of
// that from the means of stretches much longer than the queue remembers.
func waits(t *testing.T, s work.Spec, rho float64, arrivals int) (mean, spread float64) {
	t.Helper()
	dist, err := work.New(s)
	if err != nil {
		t.Fatal(err)
	}
	fifo, err := order.Registry.Lookup("fifo")
	if err != nil {
		t.Fatal(err)
	}
	core, err := server.New(server.Spec{Workers: 1, Service: s.Mean, Order: func() (order.Order, error) {
		return fifo.New(order.Setup{}, fifo.Knobs())
	}})
	if err != nil {
		t.Fatal(err)
	}
	length := time.Duration(float64(arrivals) * float64(s.Mean) / rho)
	p, err := plan.New(plan.Spec{
		Seed: 1, Arrivals: plan.Poisson, Clients: 1, Work: dist, Jitter: true,
		Classes: []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: time.Hour, Deadline: time.Hour}},
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: rho / s.Mean.Seconds(), For: length}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const stretches = 20
	var sum, n [stretches]float64
	served := 0
	collect := func() {
		for _, e := range core.Effects() {
			i := min(int(stretches*float64(e.R.Arrived)/float64(length)), stretches-1)
			sum[i] += float64(e.R.Started-e.R.Arrived) / float64(s.Mean)
			n[i]++
			served++
		}
	}
	for a := range p.All() {
		core.Arrive(a.At, &protection.Request{ID: a.Seq, Cost: 1, Work: a.Work, Arrived: a.At, Deadline: protection.Never})
		collect()
	}
	for core.Next() != protection.Never {
		core.Advance(core.Next())
		collect()
	}
	if uint64(served) != p.Count() {
		t.Fatalf("%d of %d were served", served, p.Count())
	}
	for i := range sum {
		sum[i] /= n[i]
		mean += sum[i] / stretches
	}
	for _, m := range sum {
		spread += (m - mean) * (m - mean)
	}
	return mean, math.Sqrt(spread / (stretches - 1) / stretches)
}

// TestPollaczekKhinchine: with one worker the mean wait is
// rho/(1-rho)·(1+CV²)/2 times the mean work. Exponential work (CV² 1) makes
// that rho/(1-rho), and the response 1/(1-rho), the hockey stick: 2, 3.33, 5,
// 10, 20. The defaults of bimodal (99% of 0.5 ms and 1% of 50.5 ms) have a CV²
// of 24.75 and wait 25.75 times as long as constant work.
//
// The error allowed is four standard errors; each must be small enough to tell
// something. Beyond 0.95 the queue remembers so long that it would not be.
func TestPollaczekKhinchine(t *testing.T) {
	exponential := work.Spec{Kind: "exponential", Mean: 50 * ms}
	bimodal := work.Spec{Kind: "bimodal", Mean: ms}
	constant := work.Spec{Kind: "constant", Mean: ms}
	for _, c := range []struct {
		spec     work.Spec
		rho      float64
		arrivals int
		wait     float64 // in milliseconds
	}{
		{exponential, 0.5, 200_000, 50},
		{exponential, 0.7, 200_000, 116.6667},
		{exponential, 0.8, 300_000, 200},
		{exponential, 0.9, 600_000, 450},
		{exponential, 0.95, 800_000, 950},
		{bimodal, 0.5, 300_000, 12.875},
		{bimodal, 0.7, 400_000, 30.0417},
		{bimodal, 0.8, 600_000, 51.5},
		{bimodal, 0.9, 1_500_000, 115.875},
		{constant, 0.5, 200_000, 0.5},
		{constant, 0.7, 200_000, 1.1667},
		{constant, 0.8, 200_000, 2},
		{constant, 0.9, 400_000, 4.5},
	} {
		t.Run(fmt.Sprintf("%s at %v", c.spec.Kind, c.rho), func(t *testing.T) {
			t.Parallel()
			unit := float64(c.spec.Mean) / float64(ms)
			mean, spread := waits(t, c.spec, c.rho, c.arrivals)
			mean, spread = mean*unit, spread*unit
			if math.Abs(mean-c.wait) > 4*spread || spread > 0.08*c.wait {
				t.Errorf("waits %.4f ms, standard error %.4f: want %.4f, error at most 8%% of it", mean, spread, c.wait)
			}
		})
	}
}

// TestBimodalMoments: a fast request takes 0.5 ms, a slow one 50.5 ms; the mean
// is 1 ms, the second moment 25.75 ms², and CV² 24.75.
func TestBimodalMoments(t *testing.T) {
	d, err := work.New(work.Spec{Kind: "bimodal", Mean: ms})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	counts := map[time.Duration]float64{}
	const n = 1_000_000
	for range n {
		counts[d.Draw(r)]++
	}
	fast, slow := 500*time.Microsecond, 50500*time.Microsecond
	if len(counts) != 2 || counts[fast] == 0 || counts[slow] == 0 {
		t.Fatalf("draws %v, want %v and %v only", counts, fast, slow)
	}
	// The standard error of a share of 1% is sqrt(p(1-p)/n), 1% of it.
	if share := counts[slow] / n; math.Abs(share-0.01) > 0.0004 {
		t.Errorf("a share of %.5f is slow, want 0.01", share)
	}
	const p = 0.01
	f, s := fast.Seconds()*1e3, slow.Seconds()*1e3
	mean, second := (1-p)*f+p*s, (1-p)*f*f+p*s*s
	if math.Abs(mean-1) > 1e-12 || math.Abs(second-25.75) > 1e-9 || math.Abs(second/(mean*mean)-1-24.75) > 1e-9 {
		t.Errorf("mean %v ms, second moment %v ms²; want 1, 25.75", mean, second)
	}
}
