package profiles

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"knee/target/fault"
)

// NewFault builds fault i of Faults for one server: that of the number in the
// layer of the topology, both from 0; without a topology there is 0, 0 alone.
// Its random stream depends on all three, and on its seed or the profile's.
func (p *Profile) NewFault(i, layer, number int) (fault.Fault, error) {
	own := &p.Faults[i]
	info, err := fault.Registry.Lookup(own.Kind)
	if err != nil {
		return nil, err
	}
	setup := fault.Setup{Workers: p.Target.Workers, Service: p.service(), Classes: p.classNames(), Ramp: time.Duration(own.Ramp)}
	name := index("faults", i)
	if layer > 0 {
		tier := &p.Topology.Layers[layer-1]
		setup.Workers, setup.Service = tier.Workers, tier.Service.Mean
		name += "@" + tier.Name
	}
	seed := p.Seed
	if own.Seed != 0 {
		seed, name = own.Seed, "fault"
	}
	setup.Rand = stream(seed, numbered(name, number))
	return info.New(setup, own.Knobs)
}

// Hits returns the servers that fault i of Faults is put into: their layer, and
// their numbers in it. A fault that names none is put into all that the first
// layer has at the start.
func (p *Profile) Hits(i int) (layer int, numbers []int) {
	if p.Topology == nil {
		return 0, []int{0}
	}
	if name := p.Faults[i].Server; name != "" {
		layer, number, _ := p.Topology.Place(name) // validated
		return layer, []int{number}
	}
	for n := range p.Topology.Servers {
		numbers = append(numbers, n)
	}
	return 0, numbers
}

var serverRE = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]*/)?\d{1,4}$`)

// validateFaults checks what stands beside the knobs of faults, and asks their
// constructors about those.
func (d *decoder) validateFaults(p *Profile) {
	if p.Target == nil && len(p.Faults) > 0 {
		d.faultAt("faults", "faults: there is no target", "want a profile with one: they happen to the built-in server")
		return
	}
	end, known := p.loadLasts()
	for i := range p.Faults {
		f, path := &p.Faults[i], index("faults", i)
		if f.Kind == "" {
			continue // faulted when it was decoded
		}
		layer, _ := p.Hits(i)
		_, err := p.NewFault(i, layer, 0)
		d.knobFaults(path, err)
		if d.has(path+".for") && f.For == 0 {
			d.fieldFault(path+".for", "0s", "a duration above 0, or nothing: it lasts to the end of the run")
		}
		if f.For != 0 && f.Ramp > f.For {
			d.fieldFault(path+".ramp", f.Ramp.String(), "at most the duration, "+f.For.String())
		}
		switch {
		case known && time.Duration(f.At) >= end:
			d.fieldFault(path+".at", f.At.String(), fmt.Sprintf("an instant before the end of the load, %v", Duration(end)))
		case known && f.For != 0 && time.Duration(f.At+f.For) > end:
			d.fieldFault(path+".for", f.For.String(), fmt.Sprintf("an end within the load, which lasts %v, or no for", Duration(end)))
		case !known && (f.At != 0 || f.For != 0):
			d.faultAt(path, path+" begins or ends during a sweep, whose loads are offered one by one", "want one that lasts throughout, without at and for, or a load without a sweep")
		}
		if d.has(path + ".server") {
			switch {
			case !serverRE.MatchString(f.Server):
				d.fieldFault(path+".server", quote(f.Server), "the number of a server, from 0, or LAYER/NUMBER")
			case p.Topology == nil:
				d.fieldFault(path+".server", f.Server, "nothing: without a topology there is one server")
			case !p.Topology.has(f.Server):
				d.fieldFault(path+".server", f.Server, "a server of the topology, numbered from 0, such as "+Front+"/0")
			}
		}
	}
}

// loadLasts returns how long the load is; false when sweeps are among its
// phases, whose length depends on the capacity.
func (p *Profile) loadLasts() (total time.Duration, known bool) {
	if p.sweeps() {
		return 0, false
	}
	for _, ph := range p.Load.Phases {
		total += time.Duration(ph.For)
	}
	if len(p.Load.Phases) == 0 {
		r := p.Load.Replay.spec()
		total = r.Lasts()
	}
	return total, true
}

// sweeps reports whether a sweep is among the phases of the load.
func (p *Profile) sweeps() bool {
	return slices.ContainsFunc(p.Load.Phases, func(ph Phase) bool { return ph.Kind == sweep })
}
