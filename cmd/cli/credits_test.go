package cli

import (
	"testing"
	"testing/synctest"
	"time"

	"knee/generator/plan"
	"knee/profiles"
)

// The credits that a server grants reach its callers in both worlds: those who obey
// them are hardly ever refused. The records may differ, as two answers of one
// instant, each with its credits, come in either order.
func TestCreditsReachTheCallers(t *testing.T) {
	const window = "client.behaviours=[{kind: window, credits: 1}]"
	refused := func(set ...string) (inVirtual, inLive uint64) {
		p, err := profiles.Load("default", profiles.Overrides{Protect: "breakwater", Set: append(set, "client.clients=5")})
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
		inVirtual = inVirtualWorld(t, p, load).Total.RejectedBy["breakwater"]
		synctest.Test(t, func(t *testing.T) { inLive = inLiveWorld(t, http1, p, load).Total.RejectedBy["breakwater"] })
		return inVirtual, inLive
	}
	careless, carelessLive := refused()
	obeying, obeyingLive := refused(window)
	if careless < 500 || carelessLive < 500 {
		t.Fatalf("%d and %d of those who do not obey were refused: too few for this to say something", careless, carelessLive)
	}
	if obeying > careless/10 || obeyingLive > carelessLive/10 {
		t.Errorf("refused in virtual time and live: %d and %d of those who obey credits, %d and %d of the others", obeying, obeyingLive, careless, carelessLive)
	}
}
