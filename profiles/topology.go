package profiles

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"knee/generator/client"
	"knee/target/fleet"
	"knee/target/order"
	"knee/target/server"
	"knee/target/work"
)

// A Topology is what stands around and behind the target: several servers like
// it, and layers of others that they call. It needs virtual time.
type Topology struct {
	Group  `yaml:",inline"`
	Pools  *Pools `yaml:"pools,omitempty" doc:"connections of the callers; default: as many as they want"`
	Layers []Tier `yaml:"layers,omitempty" doc:"what the servers call, each layer the next one"`
}

// Front is the name of the layer that the target's servers form.
const Front = "front"

func (t *Topology) setDefaults() {
	*t = Topology{}
	t.Group.setDefaults()
}

// A Group is several servers of one kind.
type Group struct {
	Servers    int         `yaml:"servers" doc:"servers of this kind at the start, 1 to 1000; default 1"`
	Balancer   Balancer    `yaml:"balancer" doc:"which server a request goes to; default least_outstanding"`
	RejectTime Duration    `yaml:"reject_time,omitempty" doc:"how long a refusal takes until the balancer has it; default 0"`
	Crash      *Crash      `yaml:"crash,omitempty" doc:"servers crash when too much waits; default: they do not"`
	Health     *Health     `yaml:"health,omitempty" doc:"health checks by the balancer; default: none"`
	Ejection   *Ejection   `yaml:"ejection,omitempty" doc:"servers whose requests fail are out of service for a while; default: none"`
	Autoscaler *Autoscaler `yaml:"autoscaler,omitempty" doc:"changes the number of servers; default: none"`
	Call       *Call       `yaml:"call,omitempty" doc:"how these servers call the next layer; default: one attempt"`
}

func (g *Group) setDefaults() {
	*g = Group{Servers: 1}
	g.Balancer.setDefaults()
}

// A Tier is a layer behind the target.
type Tier struct {
	Name        string `yaml:"name" doc:"unique among the layers, of which the first is front; letters, digits, _, - and ."`
	Group       `yaml:",inline"`
	Workers     int          `yaml:"workers" doc:"requests served at once by each server, 1 to 100000; default 10"`
	Service     work.Spec    `yaml:"service" doc:"how long a worker takes for a request; default exponential, mean 10ms"`
	Order       Order        `yaml:"order" doc:"which waiting request is served next; default fifo"`
	Protections []Protection `yaml:"protections,omitempty" doc:"asked in order; the first that refuses names the reason"`
	RejectCost  float64      `yaml:"reject_cost" doc:"share of a request's work that one rejection takes, 0 to 1; default 0"`
	Degraded    float64      `yaml:"degraded" doc:"share of its work that a degraded answer takes, above 0, up to 1; default 0.2"`
}

func (t *Tier) setDefaults() {
	*t = Tier{Workers: 10, Degraded: 0.2, Service: work.Spec{Kind: "exponential", Mean: defaultMean}}
	t.Group.setDefaults()
	t.Order.setDefaults()
}

// A Balancer picks the server for a request.
type Balancer struct{ Plugin }

func (b *Balancer) setDefaults() {
	b.Kind = "least_outstanding"
	if info, err := fleet.Registry.Lookup(b.Kind); err == nil && info.Knobs != nil {
		b.Knobs = info.Knobs()
	}
}

func (*Balancer) catalogue() catalogue { return catalogueOf("balancer", fleet.Registry) }

// Crash says when servers crash.
type Crash struct {
	fleet.Crash `yaml:",inline"`
}

// Health is the health checks of a balancer.
type Health struct {
	fleet.Health `yaml:",inline"`
}

func (h *Health) setDefaults() { h.Health = fleet.DefaultHealth() }

// Ejection takes servers out of service whose requests fail.
type Ejection struct {
	fleet.Ejection `yaml:",inline"`
}

func (e *Ejection) setDefaults() { e.Ejection = fleet.DefaultEjection() }

// Autoscaler changes the number of servers.
type Autoscaler struct {
	fleet.Scaler `yaml:",inline"`
}

func (a *Autoscaler) setDefaults() { a.Scaler = fleet.DefaultScaler() }

// Pools are the connections of the callers.
type Pools struct {
	fleet.Pools `yaml:",inline"`
}

// A Call says how servers call the next layer.
type Call struct {
	fleet.Hop  `yaml:",inline"`
	Behaviours []Behaviour `yaml:"behaviours,omitempty" doc:"what a server does with its attempts, in order; default: one attempt"`
	Propagate  Propagate   `yaml:"propagate" doc:"what goes along with a request"`
}

func (c *Call) setDefaults() {
	*c = Call{}
	c.Propagate.setDefaults()
}

// Propagate says what the next layer is told of a request.
type Propagate struct {
	Deadline    bool `yaml:"deadline" doc:"what is left of its deadline, which also ends the attempts; default true"`
	Criticality bool `yaml:"criticality" doc:"how critical it is; without it all arrive as critical; default true"`
}

func (p *Propagate) setDefaults() { *p = Propagate{Deadline: true, Criticality: true} }

// JSONSchemaExtend adds what the loader checks after decoding.
func (Topology) JSONSchemaExtend(s *jsonschema.Schema) { bounds(s, "servers", 1, fleet.MaxServers) }

// JSONSchemaExtend adds what the loader checks after decoding.
func (Tier) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Required = []string{"name"}
	property(s, "name").Pattern = classNameForm
	bounds(s, "servers", 1, fleet.MaxServers)
	bounds(s, "workers", 1, MaxWorkers)
	bounds(s, "reject_cost", 0, 1)
}

// capacity returns how many requests per second the servers of a layer can serve.
func (t *Tier) capacity() float64 {
	return float64(t.Servers) * float64(t.Workers) / t.Service.Mean.Seconds()
}

// bottleneck returns the least that a layer of the topology can serve, given
// what one server of the target can. Attempts beyond the first, and workers that
// wait for the next layer, are not in it.
func (t *Topology) bottleneck(target float64) float64 {
	least := float64(t.Servers) * target
	for i := range t.Layers {
		least = min(least, t.Layers[i].capacity())
	}
	return least
}

// Fleet returns the servers of the topology. Their constructors make fresh
// plug-ins, whose random streams depend on the seed, on the place in the profile
// and on the number of the server; those of the first are those of a lone target.
func (p *Profile) Fleet() (fleet.Spec, error) {
	if p.Topology == nil || p.Target == nil {
		return fleet.Spec{}, fmt.Errorf("profile %s has no topology", p.Name)
	}
	front, err := p.Server()
	if err != nil {
		return fleet.Spec{}, err
	}
	spec := fleet.Spec{Rand: func(name string) *rand.Rand { return p.stream("topology." + name) }}
	if p.Topology.Pools != nil {
		spec.Pools = p.Topology.Pools.Pools
	}
	first := p.layer(Front, "topology", &p.Topology.Group)
	first.Server = func(number int) server.Spec {
		own := front
		own.Order = func() (order.Order, error) { return p.newOrder(&p.Target.Order, numbered("target.order", number)) }
		own.Chain = p.chain(p.Target.Protections, "target.protections", number, front.Workers, front.Service)
		return own
	}
	spec.Layers = append(spec.Layers, first)
	for i := range p.Topology.Layers {
		t, path := &p.Topology.Layers[i], index("topology.layers", i)
		dist, err := work.New(t.Service)
		if err != nil {
			return fleet.Spec{}, err
		}
		l := p.layer(t.Name, path, &t.Group)
		l.Work = dist.Draw
		l.Server = func(number int) server.Spec {
			return server.Spec{
				Workers: t.Workers, Service: t.Service.Mean, RejectCost: t.RejectCost, Degraded: t.Degraded,
				Order: func() (order.Order, error) { return p.newOrder(&t.Order, numbered(path+".order", number)) },
				Chain: p.chain(t.Protections, path+".protections", number, t.Workers, t.Service.Mean),
			}
		}
		spec.Layers = append(spec.Layers, l)
	}
	return spec, nil
}

// layer returns what a layer has beside its kind of server.
func (p *Profile) layer(name, path string, g *Group) fleet.Layer {
	l := fleet.Layer{
		Name: name, Servers: g.Servers, RejectTime: time.Duration(g.RejectTime),
		Balancer: func(r *rand.Rand) (fleet.Balancer, error) {
			info, err := fleet.Registry.Lookup(g.Balancer.Kind)
			if err != nil {
				return nil, err
			}
			return info.New(r, g.Balancer.Knobs)
		},
	}
	if g.Crash != nil {
		l.Crash = g.Crash.Crash
	}
	if g.Health != nil {
		l.Health = g.Health.Health
	}
	if g.Ejection != nil {
		l.Ejection = g.Ejection.Ejection
	}
	if g.Autoscaler != nil {
		l.Scaler = g.Autoscaler.Scaler
	}
	if g.Call != nil {
		l.Hop = g.Call.Hop
		if len(g.Call.Behaviours) > 0 {
			l.Hop.Behaviours = func(number int) ([]client.Behaviour, error) {
				return p.callBehaviours(g.Call, path+".call", number)
			}
		}
		l.Hop.DropDeadline, l.Hop.DropCriticality = !g.Call.Propagate.Deadline, !g.Call.Propagate.Criticality
	}
	return l
}

// callBehaviours builds what the server of a number does with its attempts. It
// is the only one that calls for it.
func (p *Profile) callBehaviours(c *Call, path string, number int) ([]client.Behaviour, error) {
	var all []client.Behaviour
	for i, b := range c.Behaviours {
		info, err := client.Registry.Lookup(b.Kind)
		if err != nil {
			return nil, err
		}
		built, err := info.New(client.Setup{Clients: 1, Rand: p.stream(numbered(index(path+".behaviours", i), number))}, b.Knobs)
		if err != nil {
			return nil, err
		}
		all = append(all, built)
	}
	return all, nil
}

// numbered returns the name of the random stream of one server's plug-in.
func numbered(path string, number int) string {
	if number == 0 {
		return path
	}
	return fmt.Sprintf("%s@%d", path, number)
}

// Place returns where a server is that a fault names, NUMBER or LAYER/NUMBER:
// the number of its layer and its own, both from 0. It is false when the
// topology has none such, servers that an autoscaler may add included.
func (t *Topology) Place(name string) (layer, number int, ok bool) {
	in, digits, named := strings.Cut(name, "/")
	if !named {
		in, digits = Front, name
	}
	g := &t.Group
	if in != Front {
		at := slices.IndexFunc(t.Layers, func(l Tier) bool { return l.Name == in })
		if at < 0 {
			return 0, 0, false
		}
		layer, g = at+1, &t.Layers[at].Group
	}
	most := g.Servers
	if g.Autoscaler != nil {
		most = max(most, g.Autoscaler.Max)
	}
	number, err := strconv.Atoi(digits)
	return layer, number, err == nil && number >= 0 && number < most
}

func (t *Topology) has(server string) bool {
	_, _, ok := t.Place(server)
	return ok
}

// validateTopology checks what the types of single fields do not.
func (d *decoder) validateTopology(p *Profile) {
	t := p.Topology
	if t == nil {
		return
	}
	if p.Target == nil {
		d.faultAt("topology", "topology: there is no target", "want a profile with one: it says what the servers of the first layer are")
		return
	}
	d.validateGroup("topology", &t.Group, len(t.Layers) > 0)
	if p.Target.Batch != nil && len(t.Layers) > 0 && (t.Call == nil || !t.Call.Async) {
		d.faultAt("target.batch", "target.batch: a worker that waits for topology.layers takes one request at a time", "want no batch, or topology.call.async: true")
	}
	if t.Pools != nil {
		d.knobFaults("topology.pools", t.Pools.Check())
	}
	taken := []string{Front}
	for i := range t.Layers {
		l, path := &t.Layers[i], index("topology.layers", i)
		d.validateTier(p, path, l, taken)
		taken = append(taken, l.Name)
		d.validateGroup(path, &l.Group, i < len(t.Layers)-1)
	}
}

func (d *decoder) validateTier(p *Profile, path string, l *Tier, taken []string) {
	switch {
	case l.Name == "" && !d.has(path+".name"):
		d.missing(path, "name", "a name for each layer")
	case !classNameRE.MatchString(l.Name):
		d.fieldFault(path+".name", quote(l.Name), "letters, digits, _, - and .")
	case slices.Contains(taken, l.Name):
		d.fieldFault(path+".name", quote(l.Name), "a name that no other layer has; taken are "+strings.Join(taken, ", "))
	}
	if l.Workers < 1 || l.Workers > MaxWorkers {
		d.fieldFault(path+".workers", fmt.Sprint(l.Workers), fmt.Sprintf("a number from 1 to %d", MaxWorkers))
	}
	if !(l.RejectCost >= 0 && l.RejectCost <= 1) {
		d.fieldFault(path+".reject_cost", fmt.Sprint(l.RejectCost), "a share from 0 to 1")
	}
	if !(l.Degraded > 0 && l.Degraded <= 1) {
		d.fieldFault(path+".degraded", fmt.Sprint(l.Degraded), "a share above 0, up to 1")
	}
	_, err := work.New(l.Service)
	d.knobFaults(path+".service", err)
	if l.Order.Kind != "" {
		_, err := p.newOrder(&l.Order, path)
		d.knobFaults(path+".order", err)
	}
	for i, link := range p.chain(l.Protections, path+".protections", 0, l.Workers, l.Service.Mean) {
		if link.Kind == "" {
			continue // faulted when it was decoded
		}
		_, err := link.New()
		d.knobFaults(index(path+".protections", i), err)
	}
}

func (d *decoder) validateCall(path string, c *Call) {
	d.knobFaults(path, c.Check())
	for i, b := range c.Behaviours {
		info, err := client.Registry.Lookup(b.Kind)
		if err != nil {
			continue // faulted when it was decoded
		}
		_, err = info.New(client.Setup{Clients: 1, Rand: rand.New(rand.NewPCG(0, 0))}, b.Knobs)
		d.knobFaults(index(path+".behaviours", i), err)
	}
}

// validateGroup checks servers of one kind, which call others or do not.
func (d *decoder) validateGroup(path string, g *Group, calls bool) {
	if g.Servers < 1 || g.Servers > fleet.MaxServers {
		d.fieldFault(path+".servers", fmt.Sprint(g.Servers), fmt.Sprintf("a number from 1 to %d", fleet.MaxServers))
	}
	if info, err := fleet.Registry.Lookup(g.Balancer.Kind); err == nil {
		_, err := info.New(rand.New(rand.NewPCG(0, 0)), g.Balancer.Knobs)
		d.knobFaults(path+".balancer", err)
	}
	if g.Crash != nil {
		d.knobFaults(path+".crash", g.Crash.Check())
	}
	if g.Health != nil {
		d.knobFaults(path+".health", g.Health.Check())
	}
	if g.Ejection != nil {
		d.knobFaults(path+".ejection", g.Ejection.Check())
	}
	if g.Autoscaler != nil {
		d.knobFaults(path+".autoscaler", g.Autoscaler.Check(g.Servers))
	}
	if g.Call != nil {
		d.validateCall(path+".call", g.Call)
		if !calls {
			d.faultAt(path+".call", path+".call: there is no layer to call", "want a further one in topology.layers, or no call")
		}
	}
}
