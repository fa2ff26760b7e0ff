package fleet_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"knee/generator/client"
	"knee/target/fleet"
	"knee/target/protection"
	"knee/target/server"
)

func TestSpecsThatAreRefused(t *testing.T) {
	random := func(string) *rand.Rand { return stream(1, "") }
	with := func(change func(*fleet.Layer)) fleet.Spec {
		l := servers("front", 2, 1, ms)
		change(&l)
		return fleet.Spec{Rand: random, Layers: []fleet.Layer{l, servers("back", 1, 1, ms)}}
	}
	for want, s := range map[string]fleet.Spec{
		"fleet: no layers: want at least one":  {Rand: random},
		"fleet: no random streams":             {Layers: []fleet.Layer{servers("front", 1, 1, ms)}},
		"layers[1].name is \"front\"":          {Rand: random, Layers: []fleet.Layer{servers("front", 1, 1, ms), servers("front", 1, 1, ms)}},
		"fleet: pools: connections is 0":       {Rand: random, Layers: []fleet.Layer{servers("front", 1, 1, ms)}, Pools: fleet.Pools{Instances: 1}},
		"layers[0]: it has no name":            with(func(l *fleet.Layer) { l.Name = "" }),
		"layers[0]: servers is 0: want":        with(func(l *fleet.Layer) { l.Servers = 0 }),
		"layers[0]: it has no servers or":      with(func(l *fleet.Layer) { l.Balancer = nil }),
		"layers[0]: reject_time is -1ns: want": with(func(l *fleet.Layer) { l.RejectTime = -1 }),
		"layers[0]: crash: at_queue is 0":      with(func(l *fleet.Layer) { l.Crash.Restart = time.Second }),
		"layers[0]: health: interval is 0s":    with(func(l *fleet.Layer) { l.Health.Panic = 1 }),
		"layers[0]: ejection: for is 0s: want": with(func(l *fleet.Layer) { l.Ejection = fleet.Ejection{After: 1} }),
		"layers[0]: autoscaler: max is 1":      with(func(l *fleet.Layer) { l.Scaler = fleet.DefaultScaler(); l.Scaler.Max = 1 }),
		"layers[0]: call: timeout is -1ns":     with(func(l *fleet.Layer) { l.Hop.Timeout = -1 }),
		"layers[0] (front): server 0: server: workers is 0": with(func(l *fleet.Layer) {
			l.Server = func(int) server.Spec { return server.Spec{Service: ms, Order: fifo} }
		}),
		"fleet: layer front: balancer: unknown balancer": with(func(l *fleet.Layer) { l.Balancer = balancer("fair", "") }),
		"fleet: layer front: server 0: no behaviour": with(func(l *fleet.Layer) {
			l.Hop.Behaviours = func(int) ([]client.Behaviour, error) { return nil, errors.New("no behaviour") }
		}),
	} {
		if _, err := fleet.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	noWork := with(func(*fleet.Layer) {})
	noWork.Layers[1].Work = nil
	if _, err := fleet.New(noWork); err == nil || !strings.Contains(err.Error(), "layers[1]: it has no work") {
		t.Errorf("error %v, want that the second layer has no work", err)
	}
}

// Nothing is allocated for a request, whatever it passes through.
func TestRequestsAllocateNothing(t *testing.T) {
	front := servers("front", 3, 100, ms, atMost(1000))
	front.RejectTime = ms
	front.Health = fleet.Health{Interval: 10 * ms, Timeout: 5 * ms, UnhealthyAfter: 3, HealthyAfter: 2, Work: ms}
	front.Ejection = fleet.DefaultEjection()
	front.Scaler = fleet.DefaultScaler()
	front.Scaler.Max = 3
	front.Hop = fleet.Hop{Timeout: 50 * ms, Behaviours: tries(2)}
	for _, async := range []bool{false, true} {
		front.Hop.Async = async
		for _, kind := range fleet.Registry.Names() {
			front.Balancer = balancer(kind, "")
			f, err := fleet.New(fleet.Spec{
				Rand:   func(name string) *rand.Rand { return stream(1, name) },
				Layers: []fleet.Layer{front, servers("back", 2, 10, ms, atMost(5))},
				Pools:  fleet.Pools{Instances: 5, Connections: 50},
			})
			if err != nil {
				t.Fatal(err)
			}
			requests := make([]protection.Request, 10000)
			i := 0
			send := func() {
				at := time.Duration(i) * time.Second / 25000 // more than the back can do
				for f.Next() <= at {
					f.Advance(f.Next())
					f.Effects()
				}
				r := &requests[i%len(requests)]
				*r = protection.Request{Client: uint32(i), Cost: 1, Work: ms, Arrived: at, Deadline: at + 100*ms, Attempt: 1}
				f.Arrive(at, r)
				f.Effects()
				i++
			}
			for range 10000 {
				send()
			}
			if n := testing.AllocsPerRun(10000, send); n != 0 {
				t.Errorf("%s, async %v: %v allocations a request", kind, async, n)
			}
			if r := f.Report(); r.Layers[1].Rejected == 0 || r.Layers[1].Served == 0 || r.Layers[1].Attempts == r.Layers[1].Requests {
				t.Errorf("the load says little: %+v", r.Layers[1])
			}
		}
	}
}
