package fleet_test

import (
	"slices"
	"testing"
	"time"

	"knee/target/fleet"
)

// scaled runs two servers of ten workers, 1,000/s each, of which a limit uses
// six, at 3,000/s for a minute, and returns how many servers there were in the
// end and how much was good in the last ten seconds.
func scaled(t *testing.T, signal string) (servers_ int, good float64) {
	t.Helper()
	l := servers("front", 2, 10, 10*ms, limit(6))
	l.Scaler = fleet.Scaler{
		Signal: signal, Target: 0.7, Min: 2, Max: 10,
		Interval: 5 * time.Second, UpDelay: 10 * time.Second, DownAfter: 30 * time.Second,
	}
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
	o.poisson(time.Minute, 3000, 10*ms, 0)
	o.check(t)
	for _, s := range o.Report().Layers[0].Servers {
		if s.InService {
			servers_++
		}
	}
	return servers_, perSecond(o.good(100*ms, 50*time.Second, time.Minute), 10*time.Second)
}

// A server that sheds is never busier than its limit lets it be. Who looks at
// how busy it is sees nothing; who looks at what is asked for sees it all.
func TestSheddingBlindsAnAutoscalerThatReadsCPU(t *testing.T) {
	servers, good := scaled(t, fleet.SignalCPU)
	t.Logf("cpu: %d servers, %.0f/s good of 3,000/s", servers, good)
	if servers != 2 || good > 1250 {
		t.Errorf("cpu: %d servers, %.0f/s good; want the 2 of the start and 1,200/s", servers, good)
	}
	servers, good = scaled(t, fleet.SignalDemand)
	t.Logf("demand: %d servers, %.0f/s good of 3,000/s", servers, good)
	if servers != 5 || good < 2500 { // 3,000/s of 10ms in ten workers each, 70% of them
		t.Errorf("demand: %d servers, %.0f/s good; want 5 and nearly all", servers, good)
	}
}

// Servers come after a delay, and go when fewer were wanted for a while.
func TestScalerFollowsTheLoad(t *testing.T) {
	for _, signal := range []string{fleet.SignalCPU, fleet.SignalDemand} {
		l := servers("front", 2, 10, 10*ms)
		l.Scaler = fleet.Scaler{
			Signal: signal, Target: 0.5, Min: 1, Max: 4,
			Interval: time.Second, UpDelay: 3 * time.Second, DownAfter: 5 * time.Second,
		}
		o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
		o.load(0, 10*time.Second, 1900, 10*ms, 0) // 0.95 of two servers: wants 3.8
		o.load(10*time.Second, 30*time.Second, 400, 10*ms, 0)
		o.drain()
		o.check(t)
		if up := what(o.events, fleet.Started); !slices.Equal(up, []time.Duration{4 * time.Second, 4 * time.Second}) {
			t.Errorf("%s: started at %v, want two at 4s", signal, up)
		}
		// 400/s are 0.1 of four servers: one is wanted, known at 11s for the first time.
		if down := what(o.events, fleet.Stopped); !slices.Equal(down, []time.Duration{16 * time.Second, 16 * time.Second, 16 * time.Second}) {
			t.Errorf("%s: stopped at %v, want three at 16s", signal, down)
		}
	}
}

// A worker that waits for the next layer does not use its CPU: two servers at 25%
// of their CPU and 75% of their workers are just right for a target of 25%.
func TestWaitingIsNoWork(t *testing.T) {
	front := servers("front", 2, 10, 5*ms)
	front.Scaler = fleet.Scaler{Signal: fleet.SignalCPU, Target: 0.25, Min: 1, Max: 4, Interval: time.Second, DownAfter: time.Second}
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{front, servers("back", 1, 100, 10*ms)}})
	o.load(0, 20*time.Second, 1000, 5*ms, 0)
	o.drain()
	o.check(t)
	if o.Report().Layers[0].Served != 20000 || len(o.events) != 0 {
		t.Errorf("events %v, want none", o.events)
	}
}
