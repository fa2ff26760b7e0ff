package virtual

import (
	"fmt"
	"math/rand/v2"
	"time"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/target/server"
	"knee/target/work"
)

// profile is a random small run: everything that can be set, and how it ends.
type profile struct {
	Options
	plans  []plan.Spec
	fail   faults
	ending string        // of the last plan: complete, cancel or abandon
	at     time.Duration // of abandon, since its start
	after  int           // of cancel, in attempts
	resets bool          // between plans
	chain  [][2]string   // behaviours and their knobs
}

// faults are the shares of attempts, in percent, that the transport breaks.
type faults struct{ connect, reset, ports int }

func drawProfile(t *rapid.T) profile {
	percent := func(label string) int {
		return rapid.SampledFrom([]int{0, 0, 5, 30}).Draw(t, label)
	}
	p := profile{
		fail:   faults{percent("connect"), percent("reset"), percent("ports")},
		ending: rapid.SampledFrom([]string{"complete", "complete", "cancel", "abandon"}).Draw(t, "ending"),
		at:     duration(t, "at", 0, 700),
		after:  rapid.IntRange(1, 200).Draw(t, "after"),
		resets: rapid.Bool().Draw(t, "resets"),
	}
	p.Server = drawServer(t)
	p.Client = client.Options{
		Classes:     drawClasses(t),
		Grace:       duration(t, "grace", 0, 200),
		Close:       rapid.Bool().Draw(t, "close"),
		MaxInFlight: rapid.SampledFrom([]int{0, 0, 1, 7}).Draw(t, "max_in_flight"),
	}
	if rapid.Bool().Draw(t, "behaviours") {
		p.chain = rapid.SampledFrom(chains).Draw(t, "chain")
	}
	for range rapid.IntRange(1, 2).Draw(t, "plans") {
		p.plans = append(p.plans, drawPlan(t, p.Client.Classes, p.Server.Service))
	}
	return p
}

// chains are what callers may do with their attempts.
var chains = [][][2]string{
	{{"retry", "backoff: {base: 5ms}"}},
	{{"retry", "{max_attempts: 4, backoff: {base: 0s, cap: 0s, jitter: none}}"}},
	{{"retry", "{}"}, {"retry_budget", "{rule: envoy}"}, {"breaker", "{failures: 2, timeout: 20ms}"}},
	{{"breaker", "{failures: 2, timeout: 20ms}"}, {"retry", "{}"}, {"hedge", "{delay: 3ms, max_attempts: 3}"}},
	{{"hedge", "delay: 10ms"}, {"retry", "{}"}, {"retry_budget", "{rule: grpc}"}},
	{{"throttle", "{k: 1.1, window: 100ms}"}, {"window", "{credits: 1}"}},
	{{"retry", "{}"}, {"blocking", "{max_in_flight: 1, buffer: 1, max_block: 10ms}"}},
}

// behaviours builds the chain of p anew.
func (p *profile) behaviours(t *rapid.T) (built []client.Behaviour) {
	for i, b := range p.chain {
		info, err := client.Registry.Lookup(b[0])
		if err != nil {
			t.Fatal(err)
		}
		knobs := info.Knobs()
		if err := yaml.Unmarshal([]byte(b[1]), knobs); err != nil {
			t.Fatal(err)
		}
		behaviour, err := info.New(client.Setup{Clients: 5, Rand: rand.New(rand.NewPCG(1, uint64(i)))}, knobs)
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, behaviour)
	}
	return built
}

// duration draws whole milliseconds, and now and then a nanosecond less.
func duration(t *rapid.T, label string, low, high int) time.Duration {
	d := time.Duration(rapid.IntRange(low, high).Draw(t, label)) * ms
	if d > ms && rapid.IntRange(0, 9).Draw(t, label+" odd") == 0 {
		d--
	}
	return d
}

func drawServer(t *rapid.T) server.Spec {
	workers := rapid.IntRange(1, 4).Draw(t, "workers")
	service := duration(t, "service", 1, 40)
	s := server.Spec{
		Workers:    workers,
		Service:    service,
		RejectCost: rapid.SampledFrom([]float64{0, 0, 0.1, 1}).Draw(t, "reject_cost"),
		Order:      newOrder(rapid.SampledFrom([]string{"fifo", "lifo"}).Draw(t, "order")),
	}
	for _, l := range rapid.SliceOfN(rapid.SampledFrom([][2]string{
		{"queue_bound", "count: 3"},
		{"queue_bound", "wait: 20ms"},
		{"queue_bound", "age: 30ms"},
		{"deadline", "allowance: mean"},
		{"deadline", "{allowance: p95, admit: true}"},
		{"limit", "limit: 4"},
		{"rate", "rate: 60"},
	}), 0, 3).Draw(t, "chain") {
		s.Chain = append(s.Chain, link(l[0], l[1], workers, service))
	}
	return s
}

func drawClasses(t *rapid.T) []plan.Class {
	var classes []plan.Class
	for i := range rapid.IntRange(1, 3).Draw(t, "classes") {
		classes = append(classes, plan.Class{
			Name:        fmt.Sprint("class", i),
			Weight:      float64(rapid.IntRange(1, 3).Draw(t, "weight")),
			Criticality: rapid.IntRange(0, 3).Draw(t, "criticality"),
			Cost:        float64(rapid.IntRange(1, 2).Draw(t, "cost")),
			Timeout:     duration(t, "timeout", 1, 150),
			Deadline:    duration(t, "deadline", 1, 150),
		})
	}
	return classes
}

func drawPlan(t *rapid.T, classes []plan.Class, service time.Duration) plan.Spec {
	s := plan.Spec{
		Seed:     rapid.Uint64().Draw(t, "seed"),
		Arrivals: rapid.SampledFrom([]plan.Process{plan.Constant, plan.Poisson}).Draw(t, "arrivals"),
		Classes:  classes,
		Clients:  rapid.IntRange(1, 5).Draw(t, "clients"),
		Jitter:   rapid.Bool().Draw(t, "jitter"),
		Work:     constant(service),
	}
	if rapid.Bool().Draw(t, "exponential") {
		dist, err := work.New(work.Spec{Kind: "exponential", Mean: service})
		if err != nil {
			t.Fatal(err)
		}
		s.Work = dist
	}
	rate := rapid.SampledFrom([]float64{0, 20, 100, 500})
	for range rapid.IntRange(1, 3).Draw(t, "phases") {
		span := duration(t, "for", 50, 400)
		if rapid.Bool().Draw(t, "ramp") {
			s.Phases = append(s.Phases, plan.Phase{Kind: plan.Ramp, From: rate.Draw(t, "from"), To: rate.Draw(t, "to"), For: span})
		} else {
			s.Phases = append(s.Phases, plan.Phase{Kind: plan.Hold, Rate: rate.Draw(t, "rate"), For: span})
		}
	}
	return s
}
