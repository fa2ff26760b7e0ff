package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"knee/ci/verdict"
	"knee/profiles"
)

// A real server is priced: every request is accounted for over its fresh starts,
// what it used is known, and its CPU profiles are kept. What a rejection costs on a
// machine that other tests use is not judged here.
func TestCostOfARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, stdout, stderr := quietWorld("cost", "--quick", "--step", "200ms", "--max", "1000", "--format", "json", "--out", dir,
		"--set", "target.service.mean=4ms", "--set", "target.shed_at=headers")
	switch code := run(context.Background(), w); code {
	case 0, verdict.CodeFailed, verdict.CodeInconclusive:
	default:
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	for _, s := range r.Steps {
		if err := conserved(s.Counts); err != nil {
			t.Errorf("%s: %v", s.Phase, err)
		}
	}
	if m := r.Reconciliation; m.Matched == nil || !*m.Matched {
		t.Errorf("the server counted otherwise: %v", m.Differences)
	}
	if len(r.Rejection.Stages) != 1 || r.Rejection.Stages[0].Stage != "headers" {
		t.Fatalf("stages %+v, want headers", r.Rejection.Stages)
	}
	if us := r.Rejection.Stages[0].SuccessCPUUS; us != nil && (*us < 1000 || *us > 100_000) {
		t.Errorf("a success took %v µs of CPU, of which it burned 4,000", *us)
	}
	if r.Rejection.CollapseRPS == nil {
		t.Skipf("no price on this machine now: %s", r.Rejection.Why)
	}
	for _, name := range []string{"headers-serving.pprof", "headers-rejecting.pprof"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) { // a profile is compressed
			t.Errorf("%s: %v, %d bytes", name, err, len(data))
		}
	}
}

// Where a server outside knee says no is not known, and there is no target to ask.
func TestCostStagesOfAServerElsewhere(t *testing.T) {
	s := &session{o: &runOptions{url: "http://127.0.0.1:1/", cost: &costOptions{}}, profile: &profiles.Profile{}}
	stages, left, err := s.costStages()
	if err != nil || len(left) != 0 || len(stages) != 1 || stages[0] != "" {
		t.Errorf("stages %q, left %v, %v; want one without a name", stages, left, err)
	}
}
