package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"knee/generator/client"
	"knee/target/fault"
	"knee/target/order"
	"knee/target/plugin"
	"knee/target/protection"
)

// A Plugin names something that can be plugged in, with its knobs.
type Plugin struct {
	Kind  string // a name in the registry
	Knobs any    // what the registry's Info.Knobs returned, filled; nil when there are none
}

// A Protection is one link of the server's chain.
type Protection struct{ Plugin }

// An Order is the order of the server's queue.
type Order struct{ Plugin }

func (o *Order) setDefaults() {
	o.Kind = "fifo"
	if info, err := order.Registry.Lookup(o.Kind); err == nil && info.Knobs != nil {
		o.Knobs = info.Knobs()
	}
}

// A Behaviour is something that clients do with their attempts.
type Behaviour struct{ Plugin }

// An Injection is a fault that is put into the server for some time. Its
// instants count from the start of the load.
type Injection struct {
	Plugin
	At     Duration `yaml:"at" doc:"instant at which it begins, since the start of the load; default 0"`
	For    Duration `yaml:"for,omitempty" doc:"how long it lasts; default: to the end of the run"`
	Ramp   Duration `yaml:"ramp,omitempty" doc:"how long it takes to grow to its full strength, within its duration; default 0: at once"`
	Seed   uint64   `yaml:"seed,omitempty" doc:"of its own random stream; default: follows from the profile's"`
	Server string   `yaml:"server,omitempty" doc:"of a topology: number of the server, from 0, in the first layer, or LAYER/NUMBER; default: every server of the first layer"`
}

// pluggable is a plug-in of one registry. Fields of its own, beside those of
// Plugin, stand among its knobs.
type pluggable interface {
	catalogue() catalogue
	plugin() *Plugin
}

func (p *Plugin) plugin() *Plugin { return p }

func (*Protection) catalogue() catalogue {
	return catalogueOf("protection", protection.Registry)
}

func (*Order) catalogue() catalogue { return catalogueOf("order", order.Registry) }

func (*Behaviour) catalogue() catalogue {
	return catalogueOf("client behaviour", client.Registry)
}

func (*Injection) catalogue() catalogue {
	return catalogueOf("fault", fault.Registry)
}

// catalogue is a registry without the type of what it builds.
type catalogue struct {
	what    string
	entries []entry // sorted by name
}

// entry is one plug-in of a catalogue.
type entry struct {
	name, doc string
	knobs     func() any // nil when there are none
}

func catalogueOf[T any](what string, r *plugin.Registry[T]) catalogue {
	c := catalogue{what: what}
	for _, i := range r.All() {
		c.entries = append(c.entries, entry{i.Name, i.Doc, i.Knobs})
	}
	return c
}

// newKnobs returns the knobs with their defaults, nil when there are none.
func (e entry) newKnobs() any {
	if e.knobs == nil {
		return nil
	}
	return e.knobs()
}

func (c catalogue) names() []string {
	names := make([]string, len(c.entries))
	for i, e := range c.entries {
		names[i] = e.name
	}
	return names
}

// known lists what may stand in `kind`.
func (c catalogue) known() string {
	return "known are " + strings.Join(c.names(), ", ")
}

// decodePlugin writes the mapping n into p: its kind, and the other keys into
// the knobs of that kind.
func (d *decoder) decodePlugin(n *yaml.Node, path string, p pluggable) {
	c := p.catalogue()
	if n.Kind != yaml.MappingNode {
		d.fieldFault(path, describe(n), "a mapping with a kind and its knobs, such as {kind: NAME}; "+c.known())
		return
	}
	kind := valueOf(n, "kind")
	if kind == nil {
		d.missing(path, "kind", "one: "+c.known())
		return
	}
	if kind.Kind != yaml.ScalarNode || isNull(kind) {
		d.faultIn(kind, 0, path+".kind is "+describe(kind), c.known())
		return
	}
	at := slices.IndexFunc(c.entries, func(e entry) bool { return e.name == kind.Value })
	if at < 0 {
		d.unknownKind(kind, c)
		return
	}
	if !d.plain(kind, path+".kind") {
		return
	}
	p.plugin().Kind = kind.Value
	p.plugin().Knobs = c.entries[at].newKnobs()
	known, into := []string{"kind"}, map[string]reflect.Value{}
	for _, v := range partsOf(p) {
		fields := fieldsOf(v.Type())
		for _, name := range names(fields) {
			known = append(known, name)
			into[name] = v.FieldByIndex(fields[name].Index)
		}
	}
	d.eachKey(n, path, known, func(name, at string, value *yaml.Node) {
		if name == "kind" {
			d.values[at] = value
			return
		}
		d.decode(value, at, into[name])
	})
}

// partsOf returns the structs whose fields stand beside the kind of p: its own
// and its knobs.
func partsOf(p pluggable) []reflect.Value {
	parts := []reflect.Value{reflect.ValueOf(p).Elem()}
	if knobs := p.plugin().Knobs; knobs != nil {
		parts = append(parts, reflect.ValueOf(knobs).Elem())
	}
	return parts
}

// unknownKind adds the fault of a kind that c does not have.
func (d *decoder) unknownKind(kind *yaml.Node, c catalogue) {
	d.faultIn(kind, 0, fmt.Sprintf("unknown %s %s", c.what, quote(kind.Value))+didYouMean(kind.Value, c.names()), c.known())
}

// knobFaults adds what the constructor of the plug-in at path said, each at
// the line of its knob. It leaves out knobs that the profile does not give
// while another knob is faulty: they may be missed only because of that.
func (d *decoder) knobFaults(path string, err error) {
	if err == nil {
		return
	}
	knobs := plugin.KnobErrors(err)
	if len(knobs) == 0 {
		d.faultAt(path, path, err.Error())
	}
	faulty := d.badWithin(path)
	for _, k := range knobs {
		if faulty && !d.has(join(path, k.Knob)) {
			continue
		}
		d.fieldFault(join(path, k.Knob), k.Is, k.Want)
	}
}
