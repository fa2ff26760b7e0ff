package cli

import (
	"context"
	"os/exec"
	"testing"

	"knee/ci/verdict"
	"knee/generator/host"
)

// A generator that shares its CPU with a program that always wants it says so,
// with what it saw.
func TestAGeneratorThatSharesItsCPUSaysSo(t *testing.T) {
	all, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Bind(all[:1]); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := host.Bind(all); err != nil {
			t.Error(err)
		}
	})
	busy := exec.Command("sh", "-c", "while :; do :; done") // where this process may run
	if err := busy.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = busy.Process.Kill()
		_ = busy.Wait()
	})
	w, stdout, stderr := quietWorld("run", "default", "--format", "json", "--quiet",
		"--set", "load.phases=[{kind: hold, rate: 5000, for: 2s}]")
	switch code := run(context.Background(), w); code {
	case verdict.CodeOK, verdict.CodeFailed, verdict.CodeInconclusive:
	default:
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	u := r.Steps[0].Generator
	if u == nil || u.WaitedShare == nil {
		t.Skip("this kernel does not tell how long threads wait")
	}
	if r.Machine.Placement != nil || r.Machine.CPUsAllowed != 1 {
		t.Errorf("placed on %+v of %d CPUs: there was one", r.Machine.Placement, r.Machine.CPUsAllowed)
	}
	if g := r.Generator; g.Verdict == "ok" || len(g.Evidence) == 0 || g.Why == "" {
		t.Errorf("%s, with evidence %q, though %+v", g.Verdict, g.Evidence, *u)
	}
}
