package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

// faultyProfile has one fault that comes and goes, and one that stays.
const faultyProfile = `
name: faulty
seed: 3
target: {workers: 10, service: {kind: exponential, mean: 10ms}, protections: [{kind: queue_bound, wait: 50ms}]}
client: {timeout: 100ms}
load: {arrivals: poisson, phases: [{kind: hold, rate: 0.7x, for: 20s}]}
faults:
  - {kind: stall, at: 5s, for: 2s}
  - {kind: slow_service, at: 15s, factor: 1.5}
`

func profileOf(t *testing.T, text string) *profiles.Profile {
	t.Helper()
	p, err := profiles.Load("-", profiles.Overrides{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A stubborn server fails to do what is listed, as often as it says.
type stubborn struct {
	failing map[string]int
	did     []string
}

func (s *stubborn) do(what string) error {
	if s.failing[what] > 0 {
		s.failing[what]--
		return errors.New("no answer")
	}
	s.did = append(s.did, what)
	return nil
}

func (s *stubborn) inject(i int, lease time.Duration) error {
	if err := s.do(fmt.Sprintf("inject %d", i)); err != nil {
		return err
	}
	s.did[len(s.did)-1] += fmt.Sprintf(" for %v", lease)
	return nil
}

func (s *stubborn) lift(i int) error { return s.do(fmt.Sprintf("lift %d", i)) }

// perform carries out cues as a driver does.
func perform(cues []plan.Cue) {
	slices.SortStableFunc(cues, func(a, b plan.Cue) int { return int(a.At - b.At) })
	for _, c := range cues {
		c.Do(c.At)
	}
}

func TestFaultsComeAndGo(t *testing.T) {
	begins := []string{"inject 0 for 2s", "lift 0", "inject 1 for 1m5s", "lift 1"}
	windows := []analysis.Fault{
		{Kind: "stall", Start: 5 * time.Second, End: 7 * time.Second},
		{Kind: "slow_service", Start: 15 * time.Second, End: 20 * time.Second},
	}
	for _, tt := range []struct {
		name     string
		failing  map[string]int
		did      []string
		windows  []analysis.Fault
		warnings int
		code     int
	}{
		{"as they should", nil, begins, windows, 0, verdict.CodeOK},
		{
			"one that cannot be injected is lifted all the same, as its answer may have been lost",
			map[string]int{"inject 0": 1},
			[]string{"lift 0", "inject 1 for 1m5s", "lift 1"},
			windows[1:], 1, verdict.CodeOK,
		},
		{
			"one that cannot be lifted at its end is lifted at that of the run",
			map[string]int{"lift 0": 1},
			[]string{"inject 0 for 2s", "inject 1 for 1m5s", "lift 0", "lift 1"},
			[]analysis.Fault{{Kind: "stall", Start: 5 * time.Second, End: 20 * time.Second}, windows[1]},
			0, verdict.CodeOK,
		},
		{
			"one that cannot be lifted at all",
			map[string]int{"lift 0": 9},
			[]string{"inject 0 for 2s", "inject 1 for 1m5s", "lift 1"},
			[]analysis.Fault{{Kind: "stall", Start: 5 * time.Second}, windows[1]},
			0, verdict.CodeNotReverted,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := &stubborn{failing: tt.failing}
			var events []record.Event
			j := newInjections(profileOf(t, faultyProfile), server, func(e record.Event) { events = append(events, e) })
			perform(j.cues(20 * time.Second))
			if code := codeOf(j.liftAll(20 * time.Second)); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff(tt.did, server.did); diff != "" {
				t.Errorf("the server was told (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.windows, j.windows); diff != "" {
				t.Errorf("windows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.windows, keptFaults(events)); diff != "" {
				t.Errorf("windows by the events that were kept (-want +got):\n%s", diff)
			}
			if len(j.warnings) != tt.warnings {
				t.Errorf("warnings %q, want %d", j.warnings, tt.warnings)
			}
		})
	}
}

// codeOf returns the exit code of an error of a verb.
func codeOf(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return verdict.CodeOK
}

// The whole way in virtual time: the stall is in the records, in the events and
// in the answer about recovery.
func TestRunPutsFaultsIn(t *testing.T) {
	dir := t.TempDir() + "/kept"
	w, stdout, stderr := quietWorld("run", "-", "--virtual", "--format", "json", "--out", dir)
	w.stdin = strings.NewReader(faultyProfile)
	if code := run(context.Background(), w); code != verdict.CodeOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	if r.Recovery.Faults != 1 || r.Recovery.Verdict != "recovered" || *r.Recovery.MedianS > 1 {
		t.Errorf("recovery %+v, want recovered from the stall at once", r.Recovery)
	}
	if got := r.Steps[0].Counts.Rejected; got < 1000 {
		t.Errorf("%d rejected, want nearly the 1,400 that came during the stall", got)
	}
	kept, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []analysis.Fault{
		{Kind: "stall", Start: 5 * time.Second, End: 7 * time.Second},
		{Kind: "slow_service", Start: 15 * time.Second, End: 20 * time.Second},
	}
	got := keptFaults(kept.Events)
	if n := len(got); n == 2 && got[1].End >= want[1].End && got[1].End < want[1].End+time.Second {
		got[1].End = want[1].End // that of the run, when the last answer has come
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults that were kept (-want +got):\n%s", diff)
	}
	meta, err := keptMeta(kept.Events)
	if err != nil || len(meta.Faults) != 2 {
		t.Errorf("faults %+v are known of the run, want both (%v)", meta.Faults, err)
	}
}

func TestFindLeavesFaultsOutAndSaysSo(t *testing.T) {
	w, stdout, stderr := quietWorld("find", "-", "--virtual", "--quick", "--format", "json")
	w.stdin = strings.NewReader(faultyProfile)
	if code := run(context.Background(), w); code != verdict.CodeOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "faults were left out (2)") }) {
		t.Errorf("warnings %q, want one about the faults", r.Warnings)
	}
}

// The whole way on the wall clock: the control endpoint of a server process takes
// faults, and callers see what they do.
func TestALiveRunPutsFaultsIn(t *testing.T) {
	dir := t.TempDir() + "/kept"
	w, stdout, stderr := quietWorld("run", "default", "--format", "json", "--quiet", "--out", dir,
		"--set", "load.phases=[{kind: hold, rate: 0.3x, for: 1200ms}]",
		"--set", "faults=[{kind: error_share, share: 1, at: 400ms, for: 400ms}, {kind: slow_service, factor: 1.5, at: 800ms}]")
	switch code := run(context.Background(), w); code {
	case verdict.CodeOK, verdict.CodeFailed, verdict.CodeInconclusive:
	default:
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	s := r.Steps[0]
	if s.FailedByKind["status_500"] == 0 || s.Counts.Good == 0 {
		t.Errorf("%d good, failed by %v: want both, before and during the fault", s.Counts.Good, s.FailedByKind)
	}
	if r.Reconciliation.Matched == nil || !*r.Reconciliation.Matched {
		t.Errorf("the server counted otherwise: %v", r.Reconciliation.Differences)
	}
	kept, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	faults := keptFaults(kept.Events)
	if len(faults) != 2 || faults[0].End <= faults[0].Start || faults[1].End <= faults[1].Start {
		t.Errorf("faults that were kept: %+v, want two that came and went", faults)
	}
}

// An interrupt ends the load and the faults.
func TestAnInterruptLiftsFaults(t *testing.T) {
	dir := t.TempDir() + "/kept"
	w, _, stderr := quietWorld("run", "default", "--format", "json", "--quiet", "--out", dir,
		"--set", "load.phases=[{kind: hold, rate: 0.3x, for: 1m}]", "--set", "faults=[{kind: stall, at: 200ms, for: 50s}]")
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // once the fault is there
		for range time.Tick(10 * time.Millisecond) {
			if kept, err := os.ReadFile(filepath.Join(dir, record.EventsFile)); err == nil && bytes.Contains(kept, []byte(faultBegins)) || ctx.Err() != nil {
				cancel()
				return
			}
		}
	}()
	run(ctx, w)
	cancel()
	kept, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if faults := keptFaults(kept.Events); len(faults) != 1 || faults[0].End == 0 {
		t.Errorf("faults that were kept: %+v, want one, and that it was lifted: %s", faults, stderr)
	}
}
