package cli

import (
	"slices"
	"strings"
	"testing"

	"knee/ci/verdict"
	"knee/profiles"
)

// Every embedded profile of several servers, and of what starves beside one,
// shows what it says; and what its comment names as the cure keeps it from
// happening, so that its last checks fail.
func TestWorkedExamplesAndTheirCures(t *testing.T) {
	cures := map[string][][]string{
		"cascade":                 {{"--protect", "queue_bound:wait=50ms"}},
		"layers":                  {{"--set", "topology.call.say_no_retry=true", "--set", "topology.layers.0.call.say_no_retry=true"}},
		"dont-retry":              nil,
		"attractive-shedding":     {{"--set", "topology.balancer.rejections=failure"}, {"--set", "topology.ejection.max=0.5"}},
		"health-checks-shed":      {{"--set", "topology.health.protected=true"}},
		"health-checks-protected": nil,
		"autoscaler-blind":        {{"--set", "topology.autoscaler.signal=demand", "--set", "topology.autoscaler.target=0.45"}},
		"connection-pools":        {{"--set", "topology.pools.connections=1", "--set", "topology.pools.wait=50ms"}},
		"maintenance":             {{"--order", "priority:reserve=0.1,push_out=none"}},
		"criticality-lost":        {{"--set", "topology.call.propagate.criticality=true"}},
	}
	entries, err := profiles.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := cures[e.Name]; e.Virtual && !ok {
			t.Errorf("profile %s has no line in this test", e.Name)
		}
	}
	for name, ways := range cures {
		t.Run(name, func(t *testing.T) {
			for _, flags := range append([][]string{nil}, ways...) {
				args := append([]string{"run", name, "--virtual", "--quiet"}, flags...)
				w, stdout, stderr := quietWorld(args...)
				want := verdict.CodeOK
				if flags != nil {
					want = verdict.CodeFailed
				}
				if code := run(t.Context(), w); code != want {
					t.Errorf("knee %s ends with code %d, want %d:\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
				}
			}
		})
	}
}

// Without --virtual nothing is sent.
func TestTopologiesNeedVirtualTime(t *testing.T) {
	for _, verb := range []string{"run", "find", "serve"} {
		w, _, stderr := quietWorld(verb, "cascade")
		if code := run(t.Context(), w); code != verdict.CodeUsage || !strings.Contains(stderr.String(), "topology") {
			t.Errorf("%s: code %d, %s", verb, code, stderr)
		}
	}
	if slices.Contains(singleServers(t), "cascade") {
		t.Error("cascade counts as a single server")
	}
}
