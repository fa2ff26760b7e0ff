package cli

import (
	"context"
	"strings"
	"testing"

	"knee/ci/verdict"
)

// A guard stops a real load while a fault holds the server up, the fault is taken out,
// and the server is then seen to be itself again. Every arrival ends once.
func TestAGuardStopsARealLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	w, stdout, stderr := quietWorld("run", "default", "--format", "json", "--quiet",
		"--set", "load.phases=[{kind: hold, rate: 200, for: 30s}]", "--set", "checks=[]",
		"--set", "faults=[{kind: stall, at: 1s}]", "--set", "guards=[abort when goodput < 10/s for 1s]")
	if code := run(context.Background(), w); code != verdict.CodeAborted {
		t.Fatalf("exit code %d, want %d: %s", code, verdict.CodeAborted, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	if r.Aborted == nil || r.Aborted.By != "abort when goodput < 10/s for 1s" || r.Aborted.AtS > 15 {
		t.Fatalf("aborted %+v, want it by the guard, long before the end", r.Aborted)
	}
	if planned := float64(r.Steps[0].Counts.Planned); planned > 200*(r.Aborted.AtS+1)*1.3 {
		t.Errorf("%v arrivals by %v s: the load went on", planned, r.Aborted.AtS)
	}
	for _, s := range r.Steps {
		if err := conserved(s.Counts); err != nil {
			t.Errorf("%s: %v", s.Phase, err)
		}
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "the server served a light one again") {
		t.Errorf("warnings %q: want that the server is itself again", r.Warnings)
	}
	if r.Reconciliation.Matched == nil || !*r.Reconciliation.Matched {
		t.Errorf("the server counted otherwise: %v", r.Reconciliation.Differences)
	}
}
