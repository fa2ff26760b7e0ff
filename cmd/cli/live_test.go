package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"sync"
	"syscall"
	"testing"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/plan"
)

// The whole way on the wall clock: a server process, sockets, records, report.
// What it measures depends on the machine; that it adds up does not.
func TestALiveRunAddsUp(t *testing.T) {
	w, stdout, stderr := quietWorld("run", "default", "--format", "json", "--quiet",
		"--set", "load.phases=[{kind: hold, rate: 0.5x, for: 1s}, {kind: spike, rate: 3x, for: 500ms}, {kind: hold, rate: 0.5x, for: 500ms}]")
	code := run(context.Background(), w)
	switch code {
	case verdict.CodeOK, verdict.CodeFailed, verdict.CodeInconclusive:
	default:
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	if len(r.Steps) != 3 {
		t.Fatalf("%d steps, want 3", len(r.Steps))
	}
	for _, s := range r.Steps {
		if err := conserved(s.Counts); err != nil {
			t.Errorf("%s: %v", s.Phase, err)
		}
		if s.Counts.Sent == 0 {
			t.Errorf("%s: nothing was sent", s.Phase)
		}
	}
	if r.Reconciliation.Matched == nil || !*r.Reconciliation.Matched {
		t.Errorf("the server counted otherwise: %v", r.Reconciliation.Differences)
	}
	if r.Steps[0].Counts.Good == 0 {
		t.Error("nothing was good at half the capacity")
	}
}

// An interrupt stops the load and still gives a report. It comes here with the
// first line of progress of the sweep, when the phase before it is over.
func TestAnInterruptedRunReportsWhatThereIs(t *testing.T) {
	for name, c := range map[string]struct {
		signal os.Signal
		code   int
	}{
		"SIGINT":  {os.Interrupt, verdict.CodeInterrupted},
		"SIGTERM": {syscall.SIGTERM, verdict.CodeTerminated},
	} {
		t.Run(name, func(t *testing.T) {
			w, stdout, _ := quietWorld("run", "default", "--format", "json",
				"--set", "load.phases=[{kind: hold, rate: 0.5x, for: 400ms}, {kind: sweep, from: 0.5x, to: 1x, ratio: 2, hold: 10s, passes: 1}]")
			signals := make(chan os.Signal, 1)
			w.interrupts = func() (<-chan os.Signal, func()) { return signals, func() {} }
			var once sync.Once
			w.stderr = writerFunc(func(p []byte) (int, error) {
				if bytes.HasPrefix(p, []byte(plan.Sweep)) {
					once.Do(func() { signals <- c.signal })
				}
				return len(p), nil
			})
			if code := run(context.Background(), w); code != c.code {
				t.Fatalf("exit code %d, want %d", code, c.code)
			}
			r := resultIn(t, stdout.Bytes())
			if len(r.Warnings) == 0 {
				t.Error("no warning says that the run was stopped")
			}
			if len(r.Steps) == 0 {
				t.Error("no step is reported")
			}
			for _, s := range r.Steps {
				if err := conserved(s.Counts); err != nil {
					t.Errorf("%s: %v", s.Phase, err)
				}
			}
		})
	}
}

// One that comes before the server has started ends knee as well.
func TestAnInterruptBeforeTheLoad(t *testing.T) {
	w, stdout, _ := quietWorld("find", "--quiet")
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	w.interrupts = func() (<-chan os.Signal, func()) { return signals, func() {} }
	if code := run(context.Background(), w); code != verdict.CodeInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, verdict.CodeInterrupted, stdout)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func resultIn(t *testing.T, text []byte) *analysis.Result {
	t.Helper()
	r := &analysis.Result{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatalf("result: %v\n%s", err, text)
	}
	return r
}
