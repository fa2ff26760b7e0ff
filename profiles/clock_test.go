package profiles

import (
	"strings"
	"testing"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	protection.Registry.Register(plugin.Info[protection.New]{
		Name: "test_wall",
		Doc:  "for tests alone",
		Wall: true,
		New:  func(protection.Setup, any) (protection.Protection, error) { return needy{}, nil },
	})
}

// TestWallClock holds where a protection that reads the wall clock may stand.
func TestWallClock(t *testing.T) {
	const own = `
name: x
target: {protections: [{kind: none}, {kind: test_wall}]}
load: {phases: [{kind: hold, rate: 1x, for: 1s}]}
`
	const layer = `
name: x
target: {}
topology: {layers: [{name: store, protections: [{kind: test_wall}]}]}
load: {phases: [{kind: hold, rate: 1x, for: 1s}]}
`
	for _, tt := range []struct {
		name, profile string
		over          Overrides
		want          string // what the error begins with; "": none
		remedy        string // what it ends with
	}{
		{"on the wall clock", own, Overrides{}, "", ""},
		{"in virtual time", own, Overrides{Virtual: true}, "<stdin>:3:45: target.protections.1.kind is test_wall, which reads the wall clock: want one of ", ", or no --virtual"},
		{"from the command line", own, Overrides{Virtual: true, Protect: "test_wall"}, "--protect: target.protections.0.kind is test_wall, which reads the wall clock: want one of ", ", or no --virtual"},
		{"of a server of somebody else", own, Overrides{URL: true, Capacity: 100}, "", ""},
		{"in a topology, which is virtual", layer, Overrides{}, "<stdin>:4:56: topology.layers.0.protections.0.kind is test_wall, which reads the wall clock: want one of ", ", or no topology"},
		{"before a topology", own + "topology: {servers: 2}\n", Overrides{}, "<stdin>:3:45: target.protections.1.kind is test_wall, which reads the wall clock: want one of ", ", or no topology"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.over.Stdin = strings.NewReader(tt.profile)
			_, err := Load("-", tt.over)
			switch {
			case tt.want == "":
				if err != nil {
					t.Errorf("got %v, want none", err)
				}
			case err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), ", test_wall") || !strings.Contains(err.Error(), "queue_bound, ") || !strings.HasSuffix(err.Error(), tt.remedy):
				t.Errorf("got %v\nwant %s…, with the others", err, tt.want)
			}
		})
	}
}
