package cli

import (
	"testing"

	"knee/profiles"
)

// The credits that a server grants reach its callers in both worlds, and hold them
// back in the same way.
func TestBothWorldsGrantTheSameCredits(t *testing.T) {
	o := profiles.Overrides{Protect: "breakwater", Set: []string{"client.behaviours=[{kind: window, credits: 1000}]"}}
	obeying := compareWorlds(t, "default", o)
	o.Set = nil
	careless := compareWorlds(t, "default", o)
	if obeying.Good <= careless.Good/2 || obeying.Rejected == careless.Rejected {
		t.Errorf("obeying credits made no difference: %+v, and without %+v", obeying, careless)
	}
}
