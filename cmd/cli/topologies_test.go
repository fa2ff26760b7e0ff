package cli

import (
	"slices"
	"strings"
	"testing"

	"knee/ci/verdict"
	"knee/profiles"
)

// Every worked example shows what it says; and what its comment names as the cure,
// or as what it would be without, keeps it from happening, so that its checks fail.
func TestWorkedExamplesAndTheirCures(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: virtual runs have nothing to race")
	}
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
		"deadline-propagation":    {{"--set", "topology.call.propagate={deadline: false}", "--set", "topology.layers.0.call.propagate={deadline: false}"}},
		"stage-deadlines":         {{"--set", "topology.layers.0.protections=[]"}},
		"tatkal-spike":            {{"--protect", "queue_bound:count=1000"}},
		"tatkal-bounded":          {{"--protect", "none"}},
		"table-2000":              {{"--protect", "none"}, {"--protect", "deadline:allowance=0s"}},
		"burst-and-drain":         {{"--protect", "queue_bound:wait=100ms"}},
		"retry-storm":             {{"--set", "client.behaviours=[]"}, {"--set", "load.phases.0.rate=450/s", "--set", "load.phases.2.rate=450/s", "--set", "load.phases.3.rate=450/s", "--set", "load.phases.1.for=1s"}},
		"retry-budget":            {{"--set", "client.behaviours.1.ratio=1"}},
		"rejection-fifth":         {{"--set", "target.reject_cost=0.01"}},
		"hedging":                 {{"--set", "client.behaviours=[]"}, {"--set", "target.service.per=request"}},
		"batching":                {{"--set", "target.batch.size=2"}},
		"capacity-loss":           {{"--protect", "queue_bound:wait=25ms"}},
		"cold-restart":            {{"--set", "faults.0.share=0"}},
		"bimodal-tail":            {{"--set", "target.service={kind: constant, mean: 1ms}"}},
		"criticality":             {{"--protect", "queue_bound:wait=100ms", "--order", "fifo"}},
		"tenants":                 {{"--order", "fifo"}},
		"partitions":              {{"--protect", "limit:limit=40"}},
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
