package profiles

import (
	"strings"

	"knee/target/protection"
)

// validateClock faults the protections that read the wall clock where there is
// none: in virtual time, which a topology always is.
func (d *decoder) validateClock(p *Profile, virtual bool) {
	remedy := "no --virtual"
	if p.Topology != nil {
		virtual, remedy = true, "no topology"
		for i, l := range p.Topology.Layers {
			d.withoutClock(index("topology.layers", i)+".protections", l.Protections, remedy)
		}
	}
	if p.Target != nil && virtual {
		d.withoutClock("target.protections", p.Target.Protections, remedy)
	}
}

// withoutClock faults those of the protections at a path that read the wall clock.
func (d *decoder) withoutClock(path string, links []Protection, remedy string) {
	for i, link := range links {
		if info, err := protection.Registry.Lookup(link.Kind); err == nil && info.Wall {
			d.fieldFault(index(path, i)+".kind", link.Kind+", which reads the wall clock",
				"one of "+strings.Join(timeless(), ", ")+", or "+remedy)
		}
	}
}

// timeless lists the protections that do not read the wall clock.
func timeless() []string {
	var names []string
	for _, i := range protection.Registry.All() {
		if !i.Wall {
			names = append(names, i.Name)
		}
	}
	return names
}
