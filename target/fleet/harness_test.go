package fleet_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/generator/client"
	"knee/target/fleet"
	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

const ms = time.Millisecond

// fataler is what testing.TB and rapid.T have in common that is needed here.
type fataler interface {
	Helper()
	Fatal(...any)
}

// stream returns the random stream called name of seed.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// balancer returns a constructor of the balancer called kind, knobs in YAML.
func balancer(kind, knobs string) func(*rand.Rand) (fleet.Balancer, error) {
	return func(r *rand.Rand) (fleet.Balancer, error) {
		info, err := fleet.Registry.Lookup(kind)
		if err != nil {
			return nil, err
		}
		var values any
		if info.Knobs != nil {
			values = info.Knobs()
			if err := yaml.Unmarshal([]byte(knobs), values); err != nil {
				return nil, err
			}
		}
		return info.New(r, values)
	}
}

func fifo() (order.Order, error) {
	info, err := order.Registry.Lookup("fifo")
	if err != nil {
		return nil, err
	}
	var values any
	if info.Knobs != nil {
		values = info.Knobs()
	}
	return info.New(order.Setup{}, values)
}

// rule is a protection by function.
type rule func(r *protection.Request, l protection.Load) protection.Reason

func (p rule) Admit(_ time.Duration, r *protection.Request, l protection.Load) protection.Reason {
	return p(r, l)
}
func (p rule) Leave(time.Duration, *protection.Request, protection.End) {}

func (p rule) link() server.Link {
	return server.Link{Kind: "rule", New: func() (protection.Protection, error) { return p, nil }}
}

// atMost lets n requests wait.
func atMost(n int) server.Link {
	return rule(func(_ *protection.Request, l protection.Load) protection.Reason {
		if l.Waiting >= n {
			return "queue_full"
		}
		return ""
	}).link()
}

// unlessProtected is atMost for requests that are not protected.
func unlessProtected(n int) server.Link {
	return rule(func(r *protection.Request, l protection.Load) protection.Reason {
		if l.Waiting >= n && !r.Protected {
			return "queue_full"
		}
		return ""
	}).link()
}

// no refuses everything.
func no() server.Link {
	return rule(func(*protection.Request, protection.Load) protection.Reason { return "no" }).link()
}

// servers returns a layer of n servers with constant work and a chain.
func servers(name string, n, workers int, service time.Duration, chain ...server.Link) fleet.Layer {
	return fleet.Layer{
		Name: name, Servers: n, Balancer: balancer("round_robin", ""),
		Work: func(*rand.Rand) time.Duration { return service },
		Server: func(int) server.Spec {
			return server.Spec{Workers: workers, Service: service, Order: fifo, Chain: chain}
		},
	}
}

// run is a fleet and what happened to it.
type run struct {
	*fleet.Fleet
	events []fleet.Event
	at     time.Duration // of the last thing that happened
	id     uint64
	// ends are the requests that ended, with the instant and how.
	ends []end
	then func(end) // called for each
}

type end struct {
	r  *protection.Request
	at time.Duration
	ok bool
	fleetAnswer
}

type fleetAnswer = protection.Answer

func newRun(tb fataler, s fleet.Spec) *run {
	tb.Helper()
	o := &run{}
	if s.Rand == nil {
		s.Rand = func(name string) *rand.Rand { return stream(1, name) }
	}
	s.Notice = func(e fleet.Event) { o.events = append(o.events, e) }
	f, err := fleet.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	o.Fleet = f
	return o
}

// send offers a request of that much work, and a deadline that far away; 0 is none.
func (o *run) send(at, work, deadline time.Duration) *protection.Request {
	r := &protection.Request{ID: o.id, Client: uint32(o.id), Criticality: protection.Critical, Cost: 1, Work: work, Arrived: at, Deadline: protection.Never, Attempt: 1}
	if deadline > 0 {
		r.Deadline = at + deadline
	}
	o.id++
	o.offer(at, r)
	return r
}

func (o *run) offer(at time.Duration, r *protection.Request) {
	o.until(at)
	o.Arrive(at, r)
	o.collect()
}

// until lets time pass.
func (o *run) until(at time.Duration) {
	for o.Next() <= at {
		o.at = o.Next()
		o.Advance(o.at)
		o.collect()
	}
	o.at = at
}

// drain lets time pass until nothing that was sent is open, for an hour at most.
func (o *run) drain() {
	for limit := o.at + time.Hour; uint64(len(o.ends)) < o.id && o.Next() < limit; {
		o.until(o.Next())
	}
}

func (o *run) collect() {
	for _, e := range o.Effects() {
		x := end{r: e.R, at: e.At, ok: e.Kind == server.Reply, fleetAnswer: e.Answer}
		o.ends = append(o.ends, x)
		if o.then != nil {
			o.then(x)
		}
	}
}

// load offers constant work at rate a second from one instant to another.
func (o *run) load(from, to time.Duration, rate int, work, deadline time.Duration) {
	for k := 0; ; k++ {
		at := from + time.Duration(k)*time.Second/time.Duration(rate)
		if at >= to {
			return
		}
		o.send(at, work, deadline)
	}
}

// good counts the requests that were served within a time of being sent, of
// those that were sent in a span.
func (o *run) good(within, from, to time.Duration) int {
	n := 0
	for _, e := range o.ends {
		if e.ok && e.at-e.r.Arrived <= within && e.r.Arrived >= from && e.r.Arrived < to {
			n++
		}
	}
	return n
}

// check holds that everything adds up.
func (o *run) check(tb fataler) {
	tb.Helper()
	c := o.Counts()
	ended := c.Served + c.Failed + c.Resets
	for _, n := range c.Refused {
		ended += n
	}
	if c.Arrived != o.id || ended != uint64(len(o.ends)) || ended > o.id {
		tb.Fatal(fmt.Sprintf("%d sent, %d ended; counts %+v", o.id, len(o.ends), c))
	}
}

func perSecond(n int, span time.Duration) float64 { return float64(n) / span.Seconds() }

func what(events []fleet.Event, kind fleet.What) (at []time.Duration) {
	for _, e := range events {
		if e.What == kind {
			at = append(at, e.At)
		}
	}
	return at
}

// limit lets n requests inside.
func limit(n int) server.Link {
	return rule(func(_ *protection.Request, l protection.Load) protection.Reason {
		if l.Admitted >= n {
			return "limit"
		}
		return ""
	}).link()
}

// again is a behaviour that tries again, at once or after a pause, up to a
// number of attempts.
type again struct {
	attempts int
	pause    time.Duration
	ignore   bool // tries again even when it is told not to
}

func (again) Before(now time.Duration, _ *client.Attempt) (time.Duration, string) { return now, "" }

func (b again) After(now time.Duration, a *client.Attempt, e client.Answer) time.Duration {
	if a.Number >= b.attempts || e.Result == client.OK || e.Result == client.Cancelled || e.NoRetry && !b.ignore {
		return protection.Never
	}
	return now + b.pause
}

// tries returns the behaviours of servers that make up to n attempts.
func tries(n int) func(int) ([]client.Behaviour, error) { return again{attempts: n}.only }

func (b again) only(int) ([]client.Behaviour, error) { return []client.Behaviour{b}, nil }

// healthyUnless has one server refuse everything until it is well.
func healthyUnless(of func(int) server.Spec, number int, well *bool) func(int) server.Spec {
	return func(i int) server.Spec {
		s := of(i)
		if i == number {
			s.Chain = []server.Link{rule(func(*protection.Request, protection.Load) protection.Reason {
				if *well {
					return ""
				}
				return "no"
			}).link()}
		}
		return s
	}
}
