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

// Capacity returns how many requests per second the target's workers can serve
// in full: workers divided by the mean service time; 0 without a target. Of a
// topology it is that of the layer which can serve least.
//
// Classes with service times of their own count by their weights; those with
// phases of their own do not, as their part of the load changes, unless all have
// some: then each counts as much as another. With batches it is what full ones
// carry, workers · size / (overhead + size · mean). Degraded answers take less
// and may exceed it; faults and the cost of rejections are not in it.
func (p *Profile) Capacity() float64 {
	if p.Target == nil || p.service() <= 0 {
		return 0
	}
	mean := p.service().Seconds()
	if b := p.Target.Batch; b != nil && b.Size > 0 {
		mean += time.Duration(b.Overhead).Seconds() / float64(b.Size)
	}
	own := float64(p.Target.Workers) / mean
	if p.Topology != nil {
		return p.Topology.bottleneck(own)
	}
	return own
}

// service returns the mean service time of a request; see Capacity.
func (p *Profile) service() time.Duration {
	common := p.Target.Service.Mean
	var sum, weights, own, n float64
	for _, c := range p.classes() {
		mean := common
		if c.Service != nil {
			mean = c.Service.Mean
		}
		own += mean.Seconds()
		n++
		if c.Phases == nil {
			sum += c.Weight * mean.Seconds()
			weights += c.Weight
		}
	}
	if weights == 0 {
		sum, weights = own, n
	}
	// Without differences nothing is to be lost by rounding.
	if mean := sum / weights; mean != common.Seconds() {
		return time.Duration(mean*1e9 + 0.5)
	}
	return common
}

// Work returns the distribution of the service times of requests whose class
// has none of its own, nil without a target.
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
		Service:    p.service(),
		RejectCost: t.RejectCost,
		Degraded:   t.Degraded,
		Order:      func() (order.Order, error) { return p.newOrder(&t.Order, "target.order") },
	}
	if b := t.Batch; b != nil {
		spec.Batch = server.Batch{Size: b.Size, Delay: time.Duration(b.Delay), Overhead: time.Duration(b.Overhead)}
	}
	spec.Chain = p.chain(t.Protections, "target.protections", 0, t.Workers, p.service())
	return spec, nil
}

// chain returns the protections that stand at path, of one server. Those of
// different numbers have different random streams.
func (p *Profile) chain(links []Protection, path string, number, workers int, service time.Duration) []server.Link {
	var chain []server.Link
	for i := range links {
		stream := numbered(index(path, i), number)
		chain = append(chain, server.Link{Kind: links[i].Kind, New: func() (protection.Protection, error) {
			return p.newProtection(&links[i], stream, workers, service)
		}})
	}
	return chain
}

func (p *Profile) newOrder(o *Order, stream string) (order.Order, error) {
	info, err := order.Registry.Lookup(o.Kind)
	if err != nil {
		return nil, err
	}
	return info.New(order.Setup{Rand: p.stream(stream), Classes: p.classNames()}, o.Knobs)
}

func (p *Profile) newProtection(link *Protection, stream string, workers int, service time.Duration) (protection.Protection, error) {
	info, err := protection.Registry.Lookup(link.Kind)
	if err != nil {
		return nil, err
	}
	return info.New(protection.Setup{
		Workers: workers,
		Service: service,
		Classes: p.classNames(),
		Rand:    p.stream(stream),
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
func (p *Profile) stream(name string) *rand.Rand { return stream(p.Seed, name) }

func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
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

// Classes returns the classes of the load, at least one.
func (p *Profile) Classes() []plan.Class {
	var classes []plan.Class
	for _, c := range p.classes() {
		timeout, deadline := c.Timeout, c.Deadline
		if timeout == 0 {
			timeout = p.Client.Timeout
		}
		if deadline == 0 {
			deadline = p.Client.Deadline
		}
		classes = append(classes, plan.Class{
			Name:        c.Name,
			Weight:      c.Weight,
			Criticality: criticalityOf(c.Criticality),
			Tenant:      c.Tenant,
			Cost:        c.Cost,
			Bytes:       c.Bytes,
			Protected:   c.Protected,
			Timeout:     time.Duration(timeout),
			Deadline:    time.Duration(deadline),
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

// ClientOptions returns the population of callers, with fresh behaviours whose
// random streams depend on the seed and on the place in the profile.
func (p *Profile) ClientOptions() client.Options {
	behaviours, err := p.behaviours()
	if err != nil {
		panic(fmt.Sprintf("profiles: a valid profile cannot be built: %v", err))
	}
	return client.Options{
		Classes:     p.Classes(),
		Grace:       time.Duration(p.Client.Grace),
		Close:       p.Client.OnTimeout == "close",
		MaxInFlight: int(p.Client.MaxInFlight),
		Behaviours:  behaviours,
	}
}

func (p *Profile) behaviours() ([]client.Behaviour, error) {
	var behaviours []client.Behaviour
	for i := range p.Client.Behaviours {
		b, err := p.newBehaviour(i)
		if err != nil {
			return nil, err
		}
		behaviours = append(behaviours, b)
	}
	return behaviours, nil
}

// Phases returns the load at a capacity in requests per second; it may be 0
// when no rate is a multiple of it.
func (p *Profile) Phases(capacity float64) ([]plan.Phase, error) {
	return resolve("load.phases", p.Load.Phases, capacity)
}

// resolve returns the phases that stand at a path, at a capacity.
func resolve(path string, from []Phase, capacity float64) ([]plan.Phase, error) {
	var phases []plan.Phase
	before := Rate{} // the rate at which the phase before ends
	for i, ph := range from {
		if ph.relative() && !(capacity > 0) {
			return nil, fmt.Errorf("%s.%d is a multiple of a capacity that is not known: want a target, --capacity RATE, or rates such as 1000/s", path, i)
		}
		at := func(r *Rate) float64 {
			if r == nil {
				return 0
			}
			return r.PerSecond(capacity)
		}
		out := plan.Phase{
			Kind: plan.PhaseKind(ph.Kind), Name: ph.Name, Rate: at(ph.Rate), From: at(ph.From), To: at(ph.To),
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

// Peak returns the highest rate in requests per second that the load reaches at
// a capacity, bursts and classes with phases of their own included: those as if
// all peaked at once.
func (p *Profile) Peak(capacity float64) (float64, error) {
	spec, err := p.layout(capacity)
	if err != nil {
		return 0, err
	}
	peak := highest(spec.Phases)
	for _, c := range spec.Classes {
		peak += highest(c.Phases)
	}
	switch spec.Arrivals {
	case plan.Bursty:
		peak *= spec.Burst.Peak()
	case plan.Replayed:
		peak = p.Load.Replay.peak()
	}
	return peak, nil
}

func highest(phases []plan.Phase) (peak float64) {
	for _, ph := range phases {
		peak = max(peak, ph.Rate, ph.From, ph.To)
	}
	return peak
}

// PlanSpec returns the load as the plan wants it, at a capacity in requests
// per second; it may be 0 when no rate is a multiple of it.
func (p *Profile) PlanSpec(capacity float64) (plan.Spec, error) {
	spec, err := p.layout(capacity)
	if err != nil {
		return plan.Spec{}, err
	}
	if err := p.addWork(&spec); err != nil {
		return plan.Spec{}, err
	}
	return spec, spec.Validate()
}

// layout is PlanSpec without the work, and unchecked.
func (p *Profile) layout(capacity float64) (plan.Spec, error) {
	spec := p.callers()
	var err error
	if spec.Phases, err = p.Phases(capacity); err != nil {
		return plan.Spec{}, err
	}
	if d := spec.Replay.Lasts(); len(spec.Phases) == 0 && d > 0 { // a replay that does without
		spec.Phases = []plan.Phase{{Kind: plan.Hold, For: d}}
	}
	for i, c := range p.classes() {
		if len(c.Phases) == 0 {
			continue
		}
		if spec.Classes[i].Phases, err = resolve(index("client.classes", i)+".phases", c.Phases, capacity); err != nil {
			return plan.Spec{}, err
		}
	}
	return spec, nil
}

// Workload returns the load without its phases, for those who choose the rates
// themselves: who calls, for what, and how arrivals spread around their rate. It
// returns an error when the profile leaves nothing to choose: it is a replay, or
// has classes with phases of their own.
func (p *Profile) Workload() (plan.Spec, error) {
	if p.Load.Arrivals == replay {
		return plan.Spec{}, fmt.Errorf("profile %s replays its arrivals, so that there is no rate to vary: want knee run", p.Name)
	}
	for i, c := range p.Client.Classes {
		if len(c.Phases) > 0 {
			return plan.Spec{}, fmt.Errorf("profile %s has a class with phases of its own, client.classes.%d, which do not vary with the load: want knee run", p.Name, i)
		}
	}
	spec := p.callers()
	return spec, p.addWork(&spec)
}

// callers is Workload without the work.
func (p *Profile) callers() plan.Spec {
	spec := plan.Spec{Seed: p.Seed, Classes: p.Classes(), Clients: p.Client.Clients, Jitter: true, Replay: p.Load.Replay.spec()}
	spec.Arrivals, _ = plan.ParseProcess(p.Load.Arrivals) // validated
	spec.Sticky = p.Target != nil && p.Target.Service.Per == perRequest
	if b := p.Load.Burst; b != nil {
		spec.Burst = plan.Burst{On: time.Duration(b.On), Off: time.Duration(b.Off), Idle: b.Idle, Fixed: b.Lengths == "fixed"}
	}
	return spec
}

// addWork fills in how much work arrivals bring, which nobody says of a server
// that is not ours.
func (p *Profile) addWork(spec *plan.Spec) error {
	if p.Target == nil {
		return nil
	}
	dist, err := p.Work()
	if err != nil {
		return err
	}
	spec.Work = dist
	for i, c := range p.Client.Classes {
		if c.Service == nil {
			continue
		}
		if spec.Classes[i].Work, err = work.New(c.Service.Spec); err != nil {
			return err
		}
	}
	return nil
}
