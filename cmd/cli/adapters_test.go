package cli

import (
	"testing"
	"testing/synctest"
	"time"

	"knee/generator/plan"
	"knee/profiles"
	"knee/target/protection"
)

// TestRealLibrariesDefendTheServer runs each protection that reads the wall clock on
// the one of a bubble, where minutes take no time, over net/http: at three times
// the capacity it refuses, and the server goes on to answer.
func TestRealLibrariesDefendTheServer(t *testing.T) {
	ran := 0
	for _, info := range protection.Registry.All() {
		if !info.Wall {
			continue
		}
		ran++
		t.Run(info.Name, func(t *testing.T) {
			p, err := profiles.Load("default", profiles.Overrides{Protect: info.Name + "+deadline", Set: []string{
				"target.service={kind: constant, mean: 100ms}", "client.timeout=1s", "client.deadline=1s", "client.grace=1s",
			}})
			if err != nil {
				t.Fatal(err)
			}
			spec, err := p.PlanSpec(p.Capacity())
			if err != nil {
				t.Fatal(err)
			}
			spec.Phases = []plan.Phase{{Kind: plan.Hold, Rate: 3 * p.Capacity(), For: 20 * time.Second}}
			load, err := plan.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				n := inLiveWorld(t, http1, p, load).Total
				if float64(n.Good) < 0.8*20*p.Capacity() {
					t.Errorf("%d good in 20s, want nearly %.0f", n.Good, 20*p.Capacity())
				}
			})
		})
	}
	if ran == 0 {
		t.Error("there is none")
	}
}
