package profiles

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
	"knee/target/work"
)

// Capacity returns how many requests per second the target's workers can
// serve: workers divided by the mean service time; 0 without a target.
func (p *Profile) Capacity() float64 {
	if p.Target == nil || p.Target.Service.Mean <= 0 {
		return 0
	}
	return float64(p.Target.Workers) / p.Target.Service.Mean.Seconds()
}

// Work returns the distribution of service times, nil without a target.
func (p *Profile) Work() (work.Dist, error) {
	if p.Target == nil {
		return nil, nil
	}
	return work.New(p.Target.Service.Spec)
}

// Server returns the built-in server. Its constructors make fresh plug-ins,
// whose random streams depend on the seed and on the place in the profile.
func (p *Profile) Server() (server.Spec, error) {
	t := p.Target
	if t == nil {
		return server.Spec{}, fmt.Errorf("profile %s has no target: want one, or --url", p.Name)
	}
	spec := server.Spec{
		Workers:    t.Workers,
		Service:    t.Service.Mean,
		RejectCost: t.RejectCost,
		Order:      p.newOrder,
	}
	for i, link := range t.Protections {
		spec.Chain = append(spec.Chain, server.Link{
			Kind: link.Kind,
			New:  func() (protection.Protection, error) { return p.newProtection(i) },
		})
	}
	return spec, nil
}

func (p *Profile) newOrder() (order.Order, error) {
	info, err := order.Registry.Lookup(p.Target.Order.Kind)
	if err != nil {
		return nil, err
	}
	return info.New(order.Setup{Rand: p.stream("target.order"), Classes: p.classNames()}, p.Target.Order.Knobs)
}

func (p *Profile) newProtection(i int) (protection.Protection, error) {
	link := p.Target.Protections[i]
	info, err := protection.Registry.Lookup(link.Kind)
	if err != nil {
		return nil, err
	}
	return info.New(protection.Setup{
		Workers: p.Target.Workers,
		Service: p.Target.Service.Mean,
		Rand:    p.stream(index("target.protections", i)),
	}, link.Knobs)
}

func (p *Profile) newBehaviour(i int) (client.Behaviour, error) {
	b := p.Client.Behaviours[i]
	info, err := client.Registry.Lookup(b.Kind)
	if err != nil {
		return nil, err
	}
	return info.New(client.Setup{Clients: p.Client.Clients, Rand: p.stream(index("client.behaviours", i))}, b.Knobs)
}

// stream returns the random stream of one consumer. It depends on the seed and
// the name alone, so that a further consumer shifts no other.
func (p *Profile) stream(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(p.Seed, h.Sum64()))
}

// classes returns the classes, or the one that stands in for them.
func (p *Profile) classes() []Class {
	if len(p.Client.Classes) > 0 {
		return p.Client.Classes
	}
	var c Class
	c.setDefaults()
	c.Name = "default"
	return []Class{c}
}

func (p *Profile) classNames() []string {
	var names []string
	for _, c := range p.classes() {
		names = append(names, c.Name)
	}
	return names
}

// Classes returns the classes of the load, at least one. A class with a
// timeout of its own has as much time beyond it as the client's deadline
// leaves beyond the client's timeout.
func (p *Profile) Classes() []plan.Class {
	var classes []plan.Class
	for _, c := range p.classes() {
		timeout := c.Timeout
		if timeout == 0 {
			timeout = p.Client.Timeout
		}
		classes = append(classes, plan.Class{
			Name:        c.Name,
			Weight:      c.Weight,
			Criticality: criticalityOf(c.Criticality),
			Tenant:      c.Tenant,
			Cost:        c.Cost,
			Timeout:     time.Duration(timeout),
			Deadline:    time.Duration(timeout + p.Client.Deadline - p.Client.Timeout),
		})
	}
	return classes
}

func criticalityOf(name string) int {
	for i, c := range criticalities {
		if c == name {
			return i
		}
	}
	return int(protection.Critical)
}

// ClientOptions returns the population of callers.
func (p *Profile) ClientOptions() client.Options {
	return client.Options{
		Classes:     p.Classes(),
		Grace:       time.Duration(p.Client.Grace),
		Close:       p.Client.OnTimeout == "close",
		MaxInFlight: int(p.Client.MaxInFlight),
	}
}

// Phases returns the load at a capacity in requests per second; it may be 0
// when no rate is a multiple of it.
func (p *Profile) Phases(capacity float64) ([]plan.Phase, error) {
	var phases []plan.Phase
	before := Rate{} // the rate at which the phase before ends
	for i, ph := range p.Load.Phases {
		if ph.relative() && !(capacity > 0) {
			return nil, fmt.Errorf("load.phases.%d is a multiple of a capacity that is not known: want a target, --capacity RATE, or rates such as 1000/s", i)
		}
		at := func(r *Rate) float64 {
			if r == nil {
				return 0
			}
			return r.PerSecond(capacity)
		}
		out := plan.Phase{
			Kind: plan.PhaseKind(ph.Kind), Rate: at(ph.Rate), From: at(ph.From), To: at(ph.To),
			For: time.Duration(ph.For), Ratio: ph.Ratio, Hold: time.Duration(ph.Hold), Passes: ph.Passes,
		}
		if out.Kind == plan.Ramp && ph.From == nil {
			out.From = before.PerSecond(capacity)
		}
		before = ph.end()
		phases = append(phases, out)
	}
	return phases, nil
}

// end returns the rate at which ph ends.
func (ph Phase) end() Rate {
	switch {
	case ph.Rate != nil:
		return *ph.Rate
	case ph.To != nil:
		return *ph.To
	}
	return Rate{}
}

// PlanSpec returns the load as the plan wants it, at a capacity in requests
// per second; it may be 0 when no rate is a multiple of it.
func (p *Profile) PlanSpec(capacity float64) (plan.Spec, error) {
	phases, err := p.Phases(capacity)
	if err != nil {
		return plan.Spec{}, err
	}
	spec, err := p.Workload()
	if err != nil {
		return plan.Spec{}, err
	}
	spec.Phases = phases
	return spec, spec.Validate()
}

// Workload returns the load without its phases: who calls, for what, and how
// arrivals spread around their rate.
func (p *Profile) Workload() (plan.Spec, error) {
	spec := p.callers()
	if p.Target == nil {
		return spec, nil
	}
	dist, err := p.Work()
	if err != nil {
		return plan.Spec{}, err
	}
	spec.Work = dist
	return spec, nil
}

// callers is Workload without the work.
func (p *Profile) callers() plan.Spec {
	spec := plan.Spec{Seed: p.Seed, Classes: p.Classes(), Clients: p.Client.Clients, Jitter: true}
	if p.Load.Arrivals == "poisson" {
		spec.Arrivals = plan.Poisson
	}
	return spec
}
