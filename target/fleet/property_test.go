package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/fault"
	"knee/target/fleet"
	"knee/target/protection"
	"knee/target/server"
)

// paused is a fault that keeps arrivals outside.
type paused struct{ _ byte }

func (*paused) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.Paused = true
	return protection.Never
}

// slowdown is a fault that makes work take so many times as long.
type slowdown struct{ factor float64 }

func (s *slowdown) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.WorkFactor *= s.factor
	return protection.Never
}

// drawLayer draws a layer with whatever it may have.
func drawLayer(t *rapid.T, i int) fleet.Layer {
	whole := func(label string, from, to int) int { return rapid.IntRange(from, to).Draw(t, label) }
	duration := func(label string, from, to int) time.Duration {
		d := time.Duration(whole(label, from, to)) * ms
		if d > ms && whole(label+" odd", 0, 9) == 0 {
			d--
		}
		return d
	}
	var links []server.Link
	if whole("bounded", 0, 1) == 1 {
		links = append(links, atMost(whole("bound", 0, 5)))
	}
	if whole("expiring", 0, 2) == 0 {
		links = append(links, rule(func(r *protection.Request, _ protection.Load) protection.Reason {
			r.ExpireAt(r.Deadline, "expired")
			return ""
		}).link())
	}
	l := servers(fmt.Sprint("layer", i), whole("servers", 1, 4), whole("workers", 1, 3), duration("service", 0, 20)+1, links...)
	kind := rapid.SampledFrom(fleet.Registry.Names()).Draw(t, "balancer")
	knobs := ""
	if kind != "random" && kind != "round_robin" && whole("failures", 0, 1) == 1 {
		knobs = "rejections: failure"
	}
	l.Balancer = balancer(kind, knobs)
	l.RejectTime = rapid.SampledFrom([]time.Duration{0, 0, ms}).Draw(t, "reject_time")
	if whole("crashing", 0, 2) == 0 {
		l.Crash = fleet.Crash{AtQueue: whole("at_queue", 1, 8), Restart: duration("restart", 0, 100)}
	}
	if whole("health", 0, 1) == 1 {
		every := duration("interval", 10, 50)
		l.Health = fleet.Health{
			Interval: every, Timeout: every / time.Duration(whole("timeout", 1, 4)), UnhealthyAfter: whole("unhealthy_after", 1, 2), HealthyAfter: whole("healthy_after", 1, 2),
			Work: ms, Protected: whole("protected", 0, 1) == 1, Panic: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "panic"),
		}
	}
	if whole("ejecting", 0, 1) == 1 {
		l.Ejection = fleet.Ejection{After: whole("after", 1, 3), For: duration("for", 1, 100), Max: rapid.SampledFrom([]float64{0.5, 1}).Draw(t, "max")}
	}
	if whole("scaling", 0, 2) == 0 {
		l.Scaler = fleet.Scaler{
			Signal: rapid.SampledFrom([]string{fleet.SignalCPU, fleet.SignalDemand}).Draw(t, "signal"), Target: 0.6, Min: 1, Max: l.Servers + 2,
			Interval: duration("look", 20, 60), UpDelay: duration("up_delay", 0, 60), DownAfter: duration("down_after", 0, 100),
		}
	}
	l.Hop = fleet.Hop{
		Timeout: rapid.SampledFrom([]time.Duration{0, 15 * ms, 40 * ms}).Draw(t, "attempt timeout"), Async: whole("async", 0, 1) == 1,
		SayNoRetry: whole("say", 0, 1) == 1, DropDeadline: whole("drop deadline", 0, 1) == 1, DropCriticality: whole("drop criticality", 0, 1) == 1,
		Behaviours: again{
			attempts: whole("attempts", 1, 3), pause: rapid.SampledFrom([]time.Duration{0, 0, 5 * ms}).Draw(t, "pause"), ignore: whole("ignore", 0, 1) == 1,
		}.only,
	}
	return l
}

// A script is a fleet and what is done to it.
type script struct {
	spec  fleet.Spec
	rate  int
	until time.Duration
	fault string
	reset bool
}

func drawScript(t *rapid.T) script {
	s := script{
		rate:  rapid.SampledFrom([]int{50, 300, 1000}).Draw(t, "rate"),
		until: 300 * ms,
		fault: rapid.SampledFrom([]string{"", "slowdown", "withoutWorkers", "gone", "paused"}).Draw(t, "fault"),
		reset: rapid.Bool().Draw(t, "reset"),
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "layers") {
		s.spec.Layers = append(s.spec.Layers, drawLayer(t, i))
	}
	if rapid.Bool().Draw(t, "pools") {
		s.spec.Pools = fleet.Pools{
			Instances: rapid.IntRange(1, 3).Draw(t, "instances"), Connections: rapid.IntRange(1, 5).Draw(t, "connections"),
			Queue: rapid.SampledFrom([]int{0, 3}).Draw(t, "queue"), Wait: rapid.SampledFrom([]time.Duration{0, 10 * ms}).Draw(t, "wait"),
		}
	}
	return s
}

// play carries s out. watch sees each request as it ends.
func (s script) play(t *rapid.T) *run {
	o := newRun(t, s.spec)
	ended := map[*protection.Request]bool{}
	o.then = func(e end) {
		if ended[e.r] {
			t.Fatalf("request %d ended twice", e.r.ID)
		}
		ended[e.r] = true
	}
	random := rand.New(rand.NewPCG(3, 3))
	var ft fault.Fault
	switch s.fault {
	case "slowdown":
		ft = &slowdown{3}
	case "withoutWorkers":
		ft = &withoutWorkers{}
	case "gone":
		ft = &gone{}
	case "paused":
		ft = &paused{}
	}
	last := len(s.spec.Layers) - 1
	for at := time.Duration(0); at < s.until; at += time.Duration(random.ExpFloat64() * float64(time.Second) / float64(s.rate)) {
		if ft != nil && o.at < 100*ms && at >= 100*ms {
			o.until(100 * ms)
			o.Inject(100*ms, last, 0, ft)
			o.collect()
		}
		if ft != nil && o.at < 250*ms && at >= 250*ms {
			o.until(250 * ms)
			o.Lift(250*ms, last, 0, ft)
			o.collect()
		}
		if s.reset && o.at < 200*ms && at >= 200*ms {
			o.until(200 * ms)
			if err := o.Reset(200 * ms); err != nil {
				t.Fatal(err)
			}
			o.collect()
			if open := int(o.id) - len(o.ends); open != 0 {
				t.Fatalf("%d requests are open after a reset", open)
			}
		}
		o.send(at, time.Duration(random.IntN(20))*ms, 80*ms)
	}
	if ft != nil {
		o.Lift(o.at, last, 0, ft)
		o.collect()
	}
	o.drain()
	return o
}

// Every request ends exactly once, whatever a fleet is made of; the attempts of
// each layer are the sum of their endings; and servers count what their
// balancers do.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		o := s.play(t)
		o.check(t)
		if len(o.ends) != int(o.id) {
			t.Fatalf("%d of %d requests ended: %+v", len(o.ends), o.id, o.Report())
		}
		// What callers gave up on goes on inside; let it end.
		o.until(o.at + 10*time.Second)
		layers := o.Report().Layers
		for i, l := range layers {
			if sum := l.Served + l.Rejected + l.Failed + l.GaveUp; l.Attempts != sum {
				t.Fatalf("layer %d: %d attempts, %d ended: %+v", i, l.Attempts, sum, l)
			}
			var requests, checks uint64
			for k, n := range l.Servers {
				requests += n.Requests
				checks += n.Checks
				ended, most := n.Served+n.Rejected+n.Failed+n.Lost+n.Resets, n.Requests
				if s.spec.Layers[i].Hop.Async {
					most += n.Lost // what it had served itself and handed on
				}
				if n.Checks > 0 {
					ended++ // a check may be open
				}
				if n.Requests > ended || most+1 < ended {
					t.Fatalf("layer %d, server %d: %d requests, %d ended: %+v", i, k, n.Requests, ended, n)
				}
			}
			if sent := l.Attempts - l.NoServer; requests < sent || requests > sent+checks {
				t.Fatalf("layer %d: servers had %d requests, the balancer sent %d and %d checks", i, requests, sent, checks)
			}
			if i+1 < len(layers) && layers[i+1].Requests*3 < layers[i+1].Attempts {
				t.Fatalf("layer %d: %d attempts for %d requests, at most 3 each", i+1, layers[i+1].Attempts, layers[i+1].Requests)
			}
		}
	})
}

// Two runs of one fleet do the same, at the same instants.
func TestDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		first, second := s.play(t), s.play(t)
		if a, b := fmt.Sprint(first.journal()), fmt.Sprint(second.journal()); a != b {
			t.Fatalf("two runs differ:\n%s\n%s", a, b)
		}
		if a, b := first.Report(), second.Report(); !reflect.DeepEqual(a, b) {
			t.Fatalf("two runs count differently:\n%+v\n%+v", a, b)
		}
	})
}

// journal lists how everything ended.
func (o *run) journal() (all []string) {
	for _, e := range o.ends {
		all = append(all, fmt.Sprint(e.r.ID, e.at, e.ok, e.fleetAnswer))
	}
	for _, e := range o.events {
		all = append(all, fmt.Sprint(e))
	}
	return all
}
