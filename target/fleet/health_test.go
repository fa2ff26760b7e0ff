package fleet_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/fleet"
	"knee/target/server"
)

// poisson offers work at a mean rate a second until an instant.
func (o *run) poisson(until time.Duration, rate float64, work, deadline time.Duration) {
	random := rand.New(rand.NewPCG(7, 7))
	for at := o.at; at < until; at += time.Duration(random.ExpFloat64() * float64(time.Second) / rate) {
		o.send(at, work, deadline)
	}
	o.until(until)
}

// checked runs five servers of 100/s each at twice their capacity for a
// minute, under health checks.
func checked(t *testing.T, h fleet.Health, bound server.Link) (*run, float64) {
	t.Helper()
	l := servers("front", 5, 1, 10*ms, bound)
	l.Balancer = balancer("random", "")
	h.Interval, h.Timeout, h.Work = time.Second, 500*ms, ms
	h.UnhealthyAfter, h.HealthyAfter = 2, 5
	l.Health = h
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
	o.poisson(time.Minute, 1000, 10*ms, 200*ms)
	o.check(t)
	return o, perSecond(o.good(200*ms, 30*time.Second, time.Minute), 30*time.Second)
}

// Health checks that are shed like any request take servers out of service that
// have too much to do, and leave the others with more. Checks that protections
// let in do not.
func TestHealthChecksThatAreShedShrinkTheFleet(t *testing.T) {
	shed, goodShed := checked(t, fleet.Health{}, unlessProtected(10))
	kept, goodKept := checked(t, fleet.Health{Protected: true}, unlessProtected(10))
	calm, goodCalm := checked(t, fleet.Health{Panic: 0.5}, unlessProtected(10))
	for _, c := range []struct {
		name string
		o    *run
		good float64
	}{{"shed", shed, goodShed}, {"protected", kept, goodKept}, {"shed, panic at half", calm, goodCalm}} {
		r := c.o.Report().Layers[0]
		t.Logf("checks %s: %.0f/s good of 500/s, at least %d servers in service, %d refused for want of one, %d times out of service",
			c.name, c.good, r.LeastServers, r.NoServer, len(what(c.o.events, fleet.Unhealthy)))
	}
	if n := shed.Report().Layers[0].LeastServers; n != 0 || goodShed > 350 {
		t.Errorf("checks shed: %.0f/s good, at least %d servers in service; want all out at times", goodShed, n)
	}
	if n := len(what(kept.events, fleet.Unhealthy)); n != 0 || goodKept < 495 {
		t.Errorf("checks protected: %.0f/s good, %d times out of service; want all of 500/s and never", goodKept, n)
	}
	if goodCalm < 450 {
		t.Errorf("checks shed, panic at half: %.0f/s good, want about 500/s", goodCalm)
	}
}

// A server that hangs answers no checks, and is out of service after three.
func TestHealthChecksFindWhoHangs(t *testing.T) {
	l := servers("front", 3, 10, 10*ms)
	l.Health = fleet.Health{Interval: time.Second, Timeout: 200 * ms, UnhealthyAfter: 3, HealthyAfter: 2, Work: ms}
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
	o.load(0, 2*time.Second, 100, 10*ms, 0)
	ft := &withoutWorkers{}
	o.Inject(2*time.Second, 0, 1, ft)
	o.load(2*time.Second, 10*time.Second, 100, 10*ms, 0)
	sick := what(o.events, fleet.Unhealthy)
	// Server 1 is checked at 2/3 of a second; its third failure is known 200ms after.
	if len(sick) != 1 || sick[0] != 4866666666+1 && sick[0] != 4866666666 {
		t.Fatalf("out of service at %v, want 4.866s", sick)
	}
	before := o.Report().Layers[0].Servers[1].Requests - o.Report().Layers[0].Servers[1].Checks
	o.Lift(10*time.Second, 0, 1, ft)
	o.load(10*time.Second, 12*time.Second, 100, 10*ms, 0)
	well := what(o.events, fleet.Healthy)
	if len(well) != 1 || well[0] < 11*time.Second || well[0] > 12*time.Second {
		t.Errorf("back in service at %v, want after two checks, at about 11.7s", well)
	}
	o.drain()
	o.check(t)
	after := o.Report().Layers[0].Servers[1].Requests - o.Report().Layers[0].Servers[1].Checks
	if before < 90 || before > 165 || after == before {
		t.Errorf("it got %d requests before it was out of service for good, %d in the end; want about 160, then more", before, after)
	}
}

// Outliers are ejected, but never more than half of the servers: when all are
// overloaded, none of them is an outlier.
func TestEjectionsAreBounded(t *testing.T) {
	eject := func(most float64) (least int, good float64) {
		l := servers("front", 4, 1, 10*ms, atMost(5))
		l.Balancer = balancer("least_outstanding", "")
		l.Ejection = fleet.Ejection{After: 5, For: 5 * time.Second, Max: most}
		o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
		o.poisson(30*time.Second, 1600, 10*ms, 0)
		o.check(t)
		return o.Report().Layers[0].LeastServers, perSecond(o.good(200*ms, 5*time.Second, 30*time.Second), 25*time.Second)
	}
	for _, c := range []struct {
		most  float64
		least int
		good  float64 // at least
	}{{1, 0, 0}, {0.5, 2, 195}, {0.25, 3, 295}, {0.2, 4, 395}} {
		least, good := eject(c.most)
		t.Logf("at most %v out: at least %d in service, %.0f/s good of 400/s", c.most, least, good)
		if least != c.least || good < c.good {
			t.Errorf("at most %v out: at least %d in service, %.0f/s good; want %d, %v/s", c.most, least, good, c.least, c.good)
		}
	}
}

// Ejection cures what refusals attract.
func TestEjectionKeepsTrafficFromWhoRefuses(t *testing.T) {
	l := twoServers("least_outstanding", "")
	l.Ejection = fleet.Ejection{After: 5, For: 10 * time.Second, Max: 0.5}
	if got := share(t, l, 20, 20*time.Second); got > 0.01 {
		t.Errorf("%.4f of the requests go to the server that refuses, want next to none", got)
	}
}
