package profiles

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"knee/target/fault"
)

// newFault builds fault i.
func (p *Profile) newFault(i int) (fault.Fault, error) {
	own := &p.Faults[i]
	info, err := fault.Registry.Lookup(own.Kind)
	if err != nil {
		return nil, err
	}
	name := index("faults", i)
	stream := p.stream(name)
	if own.Seed != 0 {
		stream = rand.New(rand.NewPCG(own.Seed, 0))
	}
	return info.New(fault.Setup{
		Workers: p.Target.Workers,
		Service: p.service(),
		Classes: p.classNames(),
		Rand:    stream,
	}, own.Knobs)
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
		_, err := p.newFault(i)
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
