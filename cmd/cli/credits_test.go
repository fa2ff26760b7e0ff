package cli

import (
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

// The credits that a server grants reach its callers in both worlds, and hold them
// back in the same way.
func TestBothWorldsGrantTheSameCredits(t *testing.T) {
	o := profiles.Overrides{Protect: "breakwater", Set: []string{"client.behaviours=[{kind: window, credits: 1000}]"}}
	compareWorlds(t, "default", o)
	obeying := overloaded(t, o)
	o.Protect = "queue_bound:wait=80ms" // as breakwater would refuse, without credits
	careless := overloaded(t, o)
	if obeying.Rejected > careless.Rejected*9/10 {
		t.Errorf("%d of those who obey credits were refused, and %d without credits: want fewer", obeying.Rejected, careless.Rejected)
	}
}

// overloaded returns what becomes of a second of three times the capacity in virtual time.
func overloaded(t *testing.T, o profiles.Overrides) record.Tally {
	t.Helper()
	p, err := profiles.Load("default", o)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := p.PlanSpec(p.Capacity())
	if err != nil {
		t.Fatal(err)
	}
	spec.Phases = []plan.Phase{{Kind: plan.Hold, Rate: 3 * p.Capacity(), For: time.Second}}
	load, err := plan.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return inVirtualWorld(t, p, load).Total
}
