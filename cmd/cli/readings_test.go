package cli

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/ci/verdict"
	"knee/generator/record"
)

// What the generator took stands in the result by step, and the folder of a run
// that was killed tells the same.
func TestAResultSaysWhatTheGeneratorTook(t *testing.T) {
	dir := t.TempDir()
	w, stdout, stderr := quietWorld("run", "default", "--format", "json", "--quiet", "--pin", "off", "--out", dir,
		"--set", "load.phases=[{kind: hold, rate: 0.2x, for: 1s}]")
	switch code := run(context.Background(), w); code {
	case verdict.CodeOK, verdict.CodeFailed, verdict.CodeInconclusive:
	default:
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := resultIn(t, stdout.Bytes())
	if r.Machine.Placement != nil {
		t.Errorf("placed on %+v, though --pin is off", r.Machine.Placement)
	}
	u := r.Steps[0].Generator
	if u == nil || u.Goroutines < 1 || runtime.GOOS == "linux" && (u.CPUShare == nil || u.MemoryBytes == 0 || u.Descriptors <= u.Connections) {
		t.Fatalf("of what the generator took it says %+v", u)
	}
	if err := os.Remove(filepath.Join(dir, record.ResultFile)); err != nil {
		t.Fatal(err)
	}
	kept, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := resultOf(kept)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(u, again.Steps[0].Generator); diff != "" {
		t.Errorf("made again from the folder (-then +now):\n%s", diff)
	}
}

func TestKeptReadingsThatCannotBeRead(t *testing.T) {
	events := []record.Event{{Kind: metaEvent, Text: "x"}, {At: time.Second, Kind: readingEvent, Text: "x"}}
	if _, err := keptReadings(events); err == nil || !strings.Contains(err.Error(), "events.jsonl: a reading at 1s") {
		t.Errorf("%v: want an error that names the place", err)
	}
	if all, err := keptReadings(events[:1]); err != nil || all != nil {
		t.Errorf("%v, %v: want no readings", all, err)
	}
}
