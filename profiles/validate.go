package profiles

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/ci/verdict"
	"knee/generator/client"
	"knee/generator/plan"
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
var unbuilt = []string{"acts"}

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
		d.faultIn(key, 0, name+" are not built yet", "want a profile without them")
	}
}

// complete fills in the defaults that depend on other fields.
func (d *decoder) complete(p *Profile) {
	c := &p.Client
	patience := p.patience()
	if !d.has("client.deadline") {
		c.Deadline = patience(c.Timeout)
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
	for i := range c.Classes {
		path, k := index("client.classes", i), &c.Classes[i]
		d.completeClass(path, k, p.Target)
		switch {
		case k.Timeout == 0 || d.has(path+".deadline"):
		case d.has("client.deadline"):
			k.Deadline = k.Timeout + c.Deadline - c.Timeout
		default:
			k.Deadline = patience(k.Timeout)
		}
	}
	if p.Load.Arrivals == bursty && p.Load.Burst == nil {
		p.Load.Burst = new(Burst)
		p.Load.Burst.setDefaults()
	}
}

// patience returns what the deadline of an original has to be for all that the
// behaviours can do, by the timeout of its attempts.
func (p *Profile) patience() func(timeout Duration) Duration {
	behaviours, err := p.behaviours()
	if err != nil { // which is a fault of its own
		return func(timeout Duration) Duration { return timeout }
	}
	return func(timeout Duration) Duration {
		return Duration(client.Patience(behaviours, time.Duration(timeout)))
	}
}

// completeClass fills in what a class takes from elsewhere.
func (d *decoder) completeClass(path string, c *Class, t *Target) {
	if len(c.Phases) > 0 && !d.has(path+".weight") {
		c.Weight = 0
	}
	s := c.Service
	if s == nil || t == nil {
		return
	}
	mean := s.Mean
	if !d.has(path + ".service.mean") {
		mean = t.Service.Mean
	}
	if !d.has(path+".service.kind") || s.Kind == t.Service.Kind {
		shape := t.Service.Spec
		for name, v := range map[string][2]*float64{
			"cv": {&shape.CV, &s.CV}, "slow_share": {&shape.SlowShare, &s.SlowShare},
			"slow_factor": {&shape.SlowFactor, &s.SlowFactor}, "alpha": {&shape.Alpha, &s.Alpha},
		} {
			if d.has(path + ".service." + name) {
				*v[0] = *v[1]
			}
		}
		s.Spec = shape
	}
	s.Mean = mean
}

// validate checks what the types of single fields do not.
func (d *decoder) validate(p *Profile, o Overrides) {
	d.validateTopology(p)
	d.validateFaults(p)
	if p.Target != nil {
		d.validateTarget(p)
	}
	d.validateClock(p, o.Virtual)
	d.validateClient(p)
	if o.URL {
		p.Target = nil
		for i := range p.Client.Classes {
			p.Client.Classes[i].Service = nil
		}
	}
	d.validateLoad(p, o)
	d.validateChecks(p)
}

// validateChecks finds checks about what the profile does not have.
func (d *decoder) validateChecks(p *Profile) {
	phases := slices.Clone(phaseKinds)
	for _, ph := range p.Load.Phases {
		if ph.Name != "" && !slices.Contains(phases, ph.Name) {
			phases = append(phases, ph.Name)
		}
	}
	for i, c := range p.Checks {
		path := index("checks", i)
		if c.Class != "" && !slices.Contains(p.classNames(), c.Class) {
			d.faultAt(path, fmt.Sprintf("%s: no class is named %s%s", path, quote(c.Class), didYouMean(c.Class, p.classNames())), "want one of "+strings.Join(p.classNames(), ", "))
		}
		if c.In != "" && !slices.Contains(phases, c.In) {
			d.faultAt(path, fmt.Sprintf("%s: no phase is named %s%s", path, quote(c.In), didYouMean(c.In, phases)), "want one of "+strings.Join(phases, ", "))
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
	if !(t.Degraded > 0 && t.Degraded <= 1) {
		d.fieldFault("target.degraded", fmt.Sprint(t.Degraded), "a share above 0, up to 1")
	}
	switch b := t.Batch; {
	case b == nil:
	case b.Size < 2 || b.Size > MaxWorkers:
		d.fieldFault("target.batch.size", fmt.Sprint(b.Size), fmt.Sprintf("a number from 2 to %d", MaxWorkers))
	case t.Service.CPU:
		d.fieldFault("target.batch", "given for work that burns a CPU", "no batch, or service without cpu: a batch is one piece of work")
	}
	d.oneOf("target.shed_at", t.ShedAt, shedStages)
	d.oneOf("target.service.per", t.Service.Per, servicePer)
	_, err := work.New(t.Service.Spec)
	d.knobFaults("target.service", err)
	d.build(p)
}

// build asks every constructor whether it takes its knobs.
func (d *decoder) build(p *Profile) {
	if t := p.Target; t.Order.Kind != "" {
		_, err := p.newOrder(&t.Order, "target.order")
		d.knobFaults("target.order", err)
	}
	for i, link := range p.Target.Protections {
		if link.Kind == "" {
			continue // faulted when it was decoded
		}
		path := index("target.protections", i)
		built, err := p.newProtection(&p.Target.Protections[i], path, p.Target.Workers, p.service())
		d.knobFaults(path, err)
		if k, ok := built.(protection.Knower); ok && k.Needs() != "" && p.Target.ShedAt == "accept" {
			d.faultAt(path, fmt.Sprintf("%s: %s needs to know %s, which nobody does at shed_at: accept, before a byte is read", path, link.Kind, k.Needs()),
				"want shed_at: headers, handler or late")
		}
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
	var behaviours []client.Behaviour
	for i, b := range c.Behaviours {
		if b.Kind == "" {
			continue // faulted when it was decoded
		}
		built, err := p.newBehaviour(i)
		d.knobFaults(index("client.behaviours", i), err)
		if err == nil {
			behaviours = append(behaviours, built)
		}
	}
	if len(behaviours) == len(c.Behaviours) {
		if wrong := (*client.OrderError)(nil); errors.As(client.CheckOrder(behaviours), &wrong) {
			at := index("client.behaviours", wrong.Index)
			d.faultAt(at, at+" ("+c.Behaviours[wrong.Index].Kind+") "+wrong.What, "want "+wrong.Want)
		}
	}
	first := map[string]int{}
	for i, k := range c.Classes {
		d.validateClass(p, index("client.classes", i), k)
		if before, taken := first[k.Name]; taken && k.Name != "" {
			d.fieldFault(index("client.classes", i)+".name", fmt.Sprintf("%s, the name of client.classes.%d too", quote(k.Name), before), "each name once")
			continue
		}
		first[k.Name] = i
	}
}

var classNameRE = regexp.MustCompile(classNameForm)

func (d *decoder) validateClass(p *Profile, path string, k Class) {
	switch {
	case k.Name == "" && !d.has(path+".name"):
		d.missing(path, "name", "a name for each class")
	case !classNameRE.MatchString(k.Name):
		d.fieldFault(path+".name", quote(k.Name), "letters, digits, _, - and .")
	}
	d.oneOf(path+".criticality", k.Criticality, criticalities)
	timeout := p.Client.Timeout
	if d.has(path + ".timeout") {
		timeout = k.Timeout
	}
	switch {
	case timeout == 0 && d.has(path+".timeout"):
		d.fieldFault(path+".timeout", "0s", "a duration above 0, such as 100ms")
	case d.has(path+".deadline") && k.Deadline < timeout:
		d.fieldFault(path+".deadline", k.Deadline.String(), "at least the timeout, "+timeout.String())
	}
	if k.Bytes < 0 || k.Bytes > maxBytes {
		d.fieldFault(path+".bytes", fmt.Sprint(k.Bytes), fmt.Sprintf("a number from 0 to %d", maxBytes))
	}
	switch {
	case k.Service == nil:
	case p.Target == nil:
		d.fieldFault(path+".service", "given without a target", "a profile with one: it is about the built-in server")
	default:
		_, err := work.New(k.Service.Spec)
		d.knobFaults(path+".service", err)
	}
	if len(k.Phases) > 0 {
		d.validateOwnPhases(p, path, k)
	}
}

// validateOwnPhases checks the phases of a class that has some.
func (d *decoder) validateOwnPhases(p *Profile, path string, k Class) {
	if k.Weight != 0 {
		d.fieldFault(path+".weight", fmt.Sprint(k.Weight), "nothing: a class with phases of its own has no share of the load's")
	}
	if p.sweeps() {
		d.fieldFault(path+".phases", "given beside a sweep", "a load without one, whose loads are offered one by one, or a weight")
	}
	for i, ph := range k.Phases {
		if ph.Kind == sweep {
			d.fieldFault(index(path+".phases", i)+".kind", sweep, "hold, ramp or spike: a sweep is of all classes")
		}
		if ph.Name != "" {
			d.fieldFault(index(path+".phases", i)+".name", quote(ph.Name), "nothing: what arrives counts in the phases of the load")
		}
	}
}

// oneOf faults a value that is not among the known ones.
func (d *decoder) oneOf(path, value string, known []string) {
	if !slices.Contains(known, value) {
		d.fieldFault(path, quote(value)+didYouMean(value, known), "one of "+strings.Join(known, ", "))
	}
}

// longestTick is the coarsest tick of a live run.
const longestTick = 100 * time.Millisecond

func (d *decoder) validateLoad(p *Profile, o Overrides) {
	l := &p.Load
	d.oneOf("load.arrivals", l.Arrivals, arrivals)
	if time.Duration(l.Tick) > longestTick {
		d.fieldFault("load.tick", l.Tick.String(), fmt.Sprintf("0s to %v", longestTick))
	}
	if b := l.Burst; b != nil {
		d.oneOf("load.burst.lengths", b.Lengths, burstLengths)
		if l.Arrivals != bursty {
			d.fieldFault("load.burst", "given for "+l.Arrivals+" arrivals", "it with arrivals: bursty")
		}
	}
	switch {
	case l.Replay == nil && l.Arrivals == replay:
		d.fieldFault("load.arrivals", replay, "load.replay with what to replay, such as {counts: [80, 120, 95]}")
		return
	case l.Replay != nil && l.Arrivals != replay:
		d.fieldFault("load.replay", "given for "+l.Arrivals+" arrivals", "it with arrivals: replay")
		return
	case len(l.Phases) == 0 && l.Arrivals != replay:
		if !d.typo[""] && !d.typo["load"] && !d.bad["load"] {
			d.fieldFault("load.phases", "empty", "at least one phase, such as {kind: hold, rate: 0.7x, for: 10s}")
		}
		return
	}
	whole := d.validatePhases("load.phases", l.Phases, l.Arrivals == replay)
	relative := slices.ContainsFunc(l.Phases, Phase.relative)
	for i, c := range p.Client.Classes {
		path := index("client.classes", i) + ".phases"
		whole = d.validatePhases(path, c.Phases, false) && whole
		relative = relative || slices.ContainsFunc(c.Phases, Phase.relative)
	}
	if !whole {
		return
	}
	capacity := p.Capacity()
	if capacity == 0 {
		capacity = o.Capacity
	}
	for i, g := range p.Guards {
		if capacity == 0 && g.Value.Unit == verdict.X {
			d.fieldFault(index("guards", i), g.Value.String()+" without a capacity", "a rate such as 100/s, a target, or --capacity RATE")
		}
	}
	if capacity == 0 && relative {
		if !o.URL && p.Target == nil { // that of a target is unknown only where that is faulted
			d.needCapacity("load.phases", l.Phases)
			for i, c := range p.Client.Classes {
				d.needCapacity(index("client.classes", i)+".phases", c.Phases)
			}
		}
		return // the plan is checked when the capacity was found
	}
	d.validatePlan(p, capacity)
}

// validatePhases checks that the phases at a path have what their kinds need;
// the plan checks the rest. Those of a replay have no rates.
func (d *decoder) validatePhases(path string, phases []Phase, replayed bool) bool {
	whole := true
	for i, ph := range phases {
		at := index(path, i)
		whole = d.validatePhase(at, ph, replayed) && whole
		if ph.Kind == ramp && ph.From == nil && i > 0 && phases[i-1].Kind == sweep {
			d.missing(at, "from", "it after a sweep, whose loads are shuffled")
			whole = false
		}
	}
	return whole
}

func (d *decoder) validatePhase(path string, ph Phase, replayed bool) bool {
	d.validatePhaseName(path+".name", ph.Name)
	need, ok := phaseFields[ph.Kind]
	if !ok {
		if !d.has(path + ".kind") {
			d.missing(path, "kind", "one of "+strings.Join(phaseKinds, ", "))
		} else {
			d.oneOf(path+".kind", ph.Kind, phaseKinds)
		}
		return false
	}
	if replayed {
		if ph.Kind != hold && ph.Kind != spike {
			d.fieldFault(path+".kind", ph.Kind, "hold or spike: a replay says how many arrive")
			return false
		}
		need = []string{"for"}
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
	return whole
}

// validatePhaseName refuses names that checks could not tell from kinds.
func (d *decoder) validatePhaseName(path, name string) {
	switch {
	case !d.has(path):
	case !classNameRE.MatchString(name):
		d.fieldFault(path, quote(name), "letters, digits, _, - and .")
	case slices.Contains(phaseKinds, name):
		d.fieldFault(path, quote(name), "a name that is not a kind of phase")
	}
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
func (d *decoder) needCapacity(path string, phases []Phase) {
	for i, ph := range phases {
		for _, r := range []struct {
			name string
			rate *Rate
		}{{"rate", ph.Rate}, {"from", ph.From}, {"to", ph.To}} {
			if r.rate != nil && r.rate.X {
				d.fieldFault(index(path, i)+"."+r.name, r.rate.String()+" without a capacity", "a rate such as 1000/s, a target, or --capacity RATE")
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
	spec, err := p.layout(capacity)
	if err == nil {
		err = spec.Validate()
	}
	for _, f := range plan.FieldErrors(err) {
		path := planFieldRE.ReplaceAllString(f.Field, ".$1")
		switch {
		case strings.HasPrefix(path, "phases"), strings.HasPrefix(path, "burst"), strings.HasPrefix(path, "replay"):
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
