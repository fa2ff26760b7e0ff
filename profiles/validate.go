package profiles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/generator/plan"
	"knee/target/fault"
	"knee/target/protection"
	"knee/target/work"
)

const (
	defaultMean    = 10 * time.Millisecond
	defaultTimeout = 100 * time.Millisecond
	defaultRatio   = 1.5
)

// unbuilt are the parts of a profile that are known and cannot be carried out
// yet. Ignoring them would let a run pass that did not do what it says.
var unbuilt = []string{"faults", "guards", "acts", "topology"}

// takeUnbuilt faults the parts that are not built yet and takes them out of
// the tree, so that they are not unknown as well.
func (d *decoder) takeUnbuilt() {
	if d.tree.root.Kind != yaml.MappingNode {
		return
	}
	for _, name := range unbuilt {
		i := indexOf(d.tree.root, name)
		if i < 0 {
			continue
		}
		key, value := d.tree.root.Content[i], d.tree.root.Content[i+1]
		remove(d.tree.root, name)
		if isNull(value) || value.Kind != yaml.ScalarNode && len(value.Content) == 0 {
			continue
		}
		if name == "topology" {
			d.faultIn(key, 0, name+" is not built yet", "want a profile without it")
		} else {
			d.faultIn(key, 0, name+" are not built yet", "want a profile without them")
		}
		if name == "faults" {
			d.checkFaultKinds(value)
		}
	}
}

// checkFaultKinds finds misspelt faults although none can be injected yet.
func (d *decoder) checkFaultKinds(list *yaml.Node) {
	c := catalogueOf("fault", fault.Registry, fault.NotBuilt)
	for _, n := range list.Content {
		kind := valueOf(n, "kind")
		if kind == nil || slices.Contains(c.names(), kind.Value) {
			continue
		}
		d.unknownKind(kind, c)
	}
}

// complete fills in the defaults that depend on other fields.
func (d *decoder) complete(p *Profile) {
	c := &p.Client
	if !d.has("client.deadline") {
		c.Deadline = c.Timeout
	}
	if !d.has("client.grace") {
		c.Grace = 2 * c.Timeout
		if c.OnTimeout == "close" {
			c.Grace = 0
		}
	}
	for i := range p.Load.Phases {
		if ph := &p.Load.Phases[i]; ph.Kind == sweep {
			if !d.has(index("load.phases", i) + ".ratio") {
				ph.Ratio = defaultRatio
			}
			if !d.has(index("load.phases", i) + ".passes") {
				ph.Passes = 1
			}
		}
	}
}

// validate checks what the types of single fields do not.
func (d *decoder) validate(p *Profile, o Overrides) {
	if p.Target != nil {
		d.validateTarget(p)
	}
	if o.URL {
		p.Target = nil
	}
	d.validateClient(p)
	d.validateLoad(p, o)
	for i, c := range p.Checks {
		if c.Class != "" && !slices.ContainsFunc(p.classes(), func(k Class) bool { return k.Name == c.Class }) {
			d.faultAt(index("checks", i), fmt.Sprintf("checks.%d: no class is named %s", i, quote(c.Class)), "want one of "+strings.Join(p.classNames(), ", "))
		}
	}
}

func (d *decoder) validateTarget(p *Profile) {
	t := p.Target
	if t.Workers < 1 || t.Workers > MaxWorkers {
		d.fieldFault("target.workers", fmt.Sprint(t.Workers), fmt.Sprintf("a number from 1 to %d", MaxWorkers))
	}
	if !(t.RejectCost >= 0 && t.RejectCost <= 1) {
		d.fieldFault("target.reject_cost", fmt.Sprint(t.RejectCost), "a share from 0 to 1")
	}
	d.oneOf("target.shed_at", t.ShedAt, shedStages)
	_, err := work.New(t.Service.Spec)
	d.knobFaults("target.service", err)
	d.build(p)
}

// build asks every constructor whether it takes its knobs.
func (d *decoder) build(p *Profile) {
	if t := p.Target; t.Order.Kind != "" {
		_, err := p.newOrder()
		d.knobFaults("target.order", err)
	}
	for i, link := range p.Target.Protections {
		if link.Kind == "" {
			continue // faulted when it was decoded
		}
		path := index("target.protections", i)
		built, err := p.newProtection(i)
		d.knobFaults(path, err)
		if k, ok := built.(protection.Knower); ok && k.Needs() != "" && p.Target.ShedAt == "accept" {
			d.faultAt(path, fmt.Sprintf("%s: %s needs to know %s, which nobody does at shed_at: accept, before a byte is read", path, link.Kind, k.Needs()),
				"want shed_at: headers, handler or late")
		}
	}
	for i, b := range p.Client.Behaviours {
		if b.Kind == "" {
			continue
		}
		_, err := p.newBehaviour(i)
		d.knobFaults(index("client.behaviours", i), err)
	}
}

func (d *decoder) validateClient(p *Profile) {
	c := &p.Client
	d.oneOf("client.on_timeout", c.OnTimeout, timeoutActions)
	switch {
	case c.Timeout == 0:
		d.fieldFault("client.timeout", "0s", "a duration above 0, such as 100ms")
	case c.Deadline < c.Timeout:
		d.fieldFault("client.deadline", c.Deadline.String(), fmt.Sprintf("at least the timeout, %v", c.Timeout))
	}
	if c.Timeout != 0 && c.Grace == 0 && c.OnTimeout == "listen" {
		d.fieldFault("client.grace", "0s", "a duration above 0 with on_timeout: listen, or on_timeout: close")
	}
	if c.Clients < 1 || c.Clients > maxClients {
		d.fieldFault("client.clients", fmt.Sprint(c.Clients), fmt.Sprintf("a number from 1 to %d", maxClients))
	}
	first := map[string]int{}
	for i, k := range c.Classes {
		d.validateClass(index("client.classes", i), k)
		if before, taken := first[k.Name]; taken && k.Name != "" {
			d.fieldFault(index("client.classes", i)+".name", fmt.Sprintf("%s, the name of client.classes.%d too", quote(k.Name), before), "each name once")
			continue
		}
		first[k.Name] = i
	}
}

var classNameRE = regexp.MustCompile(classNameForm)

func (d *decoder) validateClass(path string, k Class) {
	switch {
	case k.Name == "" && !d.has(path+".name"):
		d.missing(path, "name", "a name for each class")
	case !classNameRE.MatchString(k.Name):
		d.fieldFault(path+".name", quote(k.Name), "letters, digits, _, - and .")
	}
	d.oneOf(path+".criticality", k.Criticality, criticalities)
	if d.has(path+".timeout") && k.Timeout == 0 {
		d.fieldFault(path+".timeout", "0s", "a duration above 0, such as 100ms")
	}
}

// oneOf faults a value that is not among the known ones.
func (d *decoder) oneOf(path, value string, known []string) {
	if !slices.Contains(known, value) {
		d.fieldFault(path, quote(value)+didYouMean(value, known), "one of "+strings.Join(known, ", "))
	}
}

func (d *decoder) validateLoad(p *Profile, o Overrides) {
	if slices.Contains(plannedArrivals, p.Load.Arrivals) {
		d.fieldFault("load.arrivals", p.Load.Arrivals+", which is not built yet", "one of "+strings.Join(arrivals, ", "))
	} else {
		d.oneOf("load.arrivals", p.Load.Arrivals, arrivals)
	}
	if len(p.Load.Phases) == 0 {
		if !d.typo[""] && !d.typo["load"] && !d.bad["load"] {
			d.fieldFault("load.phases", "empty", "at least one phase, such as {kind: hold, rate: 0.7x, for: 10s}")
		}
		return
	}
	whole := true
	for i, ph := range p.Load.Phases {
		whole = d.validatePhase(p, i, ph) && whole
	}
	if !whole {
		return
	}
	capacity := p.Capacity()
	if capacity == 0 {
		capacity = o.Capacity
	}
	if capacity == 0 && slices.ContainsFunc(p.Load.Phases, Phase.relative) {
		if !o.URL {
			d.needCapacity(p)
		}
		return // the plan is checked when the capacity was found
	}
	d.validatePlan(p, capacity)
}

// validatePhase checks that ph has what its kind needs; the plan checks the rest.
func (d *decoder) validatePhase(p *Profile, i int, ph Phase) bool {
	path := index("load.phases", i)
	need, ok := phaseFields[ph.Kind]
	if !ok {
		if !d.has(path + ".kind") {
			d.missing(path, "kind", "one of "+strings.Join(phaseKinds, ", "))
		} else {
			d.oneOf(path+".kind", ph.Kind, phaseKinds)
		}
		return false
	}
	whole := true
	for _, name := range need {
		if !d.has(path + "." + name) {
			d.missing(path, name, fmt.Sprintf("%s for a %s", strings.Join(need, ", "), ph.Kind))
			whole = false
		}
	}
	for _, name := range []string{"ratio", "hold", "passes", "for", "rate", "from", "to"} {
		if d.has(path+"."+name) && !slices.Contains(need, name) && !slices.Contains(phaseOptions[ph.Kind], name) {
			d.faultIn(d.keys[path+"."+name], 0, fmt.Sprintf("%s.%s: a %s has no %s", path, name, ph.Kind, name), "want "+strings.Join(append(slices.Clone(need), phaseOptions[ph.Kind]...), ", "))
			whole = false
		}
	}
	if ph.Kind == ramp && ph.From == nil && i > 0 && p.Load.Phases[i-1].Kind == sweep {
		d.missing(path, "from", "it after a sweep, whose loads are shuffled")
		whole = false
	}
	return whole
}

// phaseFields are what a phase of each kind must have, phaseOptions what it
// may have beside that.
var (
	phaseFields = map[string][]string{
		hold:  {"rate", "for"},
		ramp:  {"to", "for"},
		spike: {"rate", "for"},
		sweep: {"from", "to", "hold"},
	}
	phaseOptions = map[string][]string{
		ramp:  {"from"},
		sweep: {"ratio", "passes"},
	}
)

// needCapacity faults each rate in x when nothing says what x is.
func (d *decoder) needCapacity(p *Profile) {
	for i, ph := range p.Load.Phases {
		for _, r := range []struct {
			name string
			rate *Rate
		}{{"rate", ph.Rate}, {"from", ph.From}, {"to", ph.To}} {
			if r.rate != nil && r.rate.X {
				d.fieldFault(index("load.phases", i)+"."+r.name, r.rate.String()+" without a capacity", "a rate such as 1000/s, a target, or --capacity RATE")
			}
		}
	}
}

// relative reports whether a rate of ph is a multiple of capacity.
func (ph Phase) relative() bool {
	return ph.Rate != nil && ph.Rate.X || ph.From != nil && ph.From.X || ph.To != nil && ph.To.X
}

var planFieldRE = regexp.MustCompile(`\[(\d+)\]`)

// validatePlan asks the plan whether it can be laid out.
func (d *decoder) validatePlan(p *Profile, capacity float64) {
	phases, err := p.Phases(capacity)
	if err == nil {
		spec := p.callers()
		spec.Phases = phases
		err = spec.Validate()
	}
	for _, f := range plan.FieldErrors(err) {
		path := planFieldRE.ReplaceAllString(f.Field, ".$1")
		switch {
		case strings.HasPrefix(path, "phases"):
			path = "load." + path
		case strings.HasSuffix(path, ".timeout"), strings.HasSuffix(path, ".deadline"):
			continue // follow from fields of the client, which were checked
		default:
			path = "client." + path
		}
		is := f.Is
		if n := d.values[path]; n != nil && n.Kind == yaml.ScalarNode && n.Value != is {
			is = n.Value + " (" + is + ")"
		}
		d.fieldFault(path, is, f.Want)
	}
}
