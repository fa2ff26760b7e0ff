package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// embedded returns the names of the profiles that knee brings along.
func embedded(t *testing.T) []string {
	t.Helper()
	out, stderr, code := knee(t, ".", "list", "profiles", "--format", "json")
	var listed []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &listed); err != nil || code != 0 || len(listed) < 5 {
		t.Fatalf("knee list profiles: %v, exit code %d, %s", err, code, stderr)
	}
	var names []string
	for _, l := range listed {
		names = append(names, l.Name)
	}
	return names
}

// result is what the tests look at in a result.
type result struct {
	Run     struct{ Command, Repeat string }
	Profile map[string]any
	Steps   []struct {
		Phase  string
		Counts map[string]uint64
	}
	Generator      struct{ Verdict string }
	Reconciliation struct{ Matched *bool }
	Warnings       []string
}

// strict reads text, which must be one JSON value and nothing more. The package
// refuses what JSON does not know, such as NaN.
func strict(t *testing.T, text string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(v); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one value: %v", err)
	}
}

func TestEveryProfileRuns(t *testing.T) {
	t.Parallel()
	ofResult, ofProfile := schemaOf(t, "result", closed), schemaOf(t, "profile", asItIs)
	for _, name := range embedded(t) {
		t.Run(name, func(t *testing.T) {
			out, stderr, code := knee(t, ".", "run", name, "--virtual", "--format", "json")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			var r result
			strict(t, out, &r)
			if err := ofResult.Validate(decoded(t, out)); err != nil {
				t.Error(err)
			}
			if err := ofProfile.Validate(decoded(t, out).(map[string]any)["profile"]); err != nil {
				t.Error(err)
			}
			if r.Generator.Verdict != "ok" || r.Reconciliation.Matched == nil || !*r.Reconciliation.Matched {
				t.Errorf("generator %s, reconciliation %v", r.Generator.Verdict, r.Reconciliation.Matched)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
			for i, s := range r.Steps {
				c := s.Counts
				if ended := c["good"] + c["late"] + c["rejected"] + c["timeout"] + c["failed"] + c["withheld"] + c["unsent"] + c["unfinished"]; c["planned"] == 0 || ended != c["planned"] {
					t.Errorf("step %d: %d planned, %d ended: %v", i, c["planned"], ended, c)
				}
			}
		})
	}
}

// TestValuesAreReadAsMeant holds that a duration or rate is read as it is
// written, or refused with its place: never as another unit, never as 0.
func TestValuesAreReadAsMeant(t *testing.T) {
	t.Parallel()
	const refused = ""
	dir := t.TempDir()
	for _, group := range []struct {
		line   string // of the profile, with VALUE
		field  string
		values map[string]string // as written, and as the result repeats it
	}{
		{"client: {timeout: VALUE}", "client.timeout", map[string]string{
			"5": refused, `"5"`: refused, "5s": "5s", "1m30s": "1m30s", "1.5s": "1.5s", `"5 s"`: refused, "5S": refused,
			"-1s": refused, "0": refused, "1d": refused, `""`: refused, "1e3ms": refused, "300y": refused,
		}},
		{"client: {grace: VALUE}", "client.grace", map[string]string{"0": refused, "0s": refused, "90s": "1m30s", "-0s": refused, "1": refused}},
		{"load: {phases: [{kind: hold, for: 1s, rate: VALUE}, {kind: hold, for: 1s, rate: 100}]}", "load.phases.0.rate", map[string]string{
			"100": "100/s", "100/s": "100/s", "6000/m": "100/s", "0.5x": "0.5x", "-1": refused, "0": "0/s", "NaN": refused,
			".nan": refused, "1e12": refused, `"1_000"`: refused, "1_000": refused, `""`: refused, "100/h": refused, "100rps": refused,
		}},
	} {
		for written, want := range group.values {
			t.Run(group.field+"="+written, func(t *testing.T) {
				text := "target: {workers: 10, service: {kind: constant, mean: 10ms}}\n" + strings.Replace(group.line, "VALUE", written, 1) + "\n"
				if !strings.Contains(group.line, "load:") {
					text += "load: {phases: [{kind: hold, rate: 10/s, for: 100ms}]}\n"
				}
				file := filepath.Join(dir, "p.yaml")
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				out, stderr, code := knee(t, dir, "run", "./p.yaml", "--virtual", "--format", "json", "--quiet")
				if want == refused {
					if code != 2 || out != "" || !strings.HasPrefix(stderr, "knee: ./p.yaml:2:") || !strings.Contains(stderr, group.field) || strings.Count(stderr, "\n") != 1 {
						t.Errorf("exit code %d, want 2 and one line that names %s: %s", code, group.field, stderr)
					}
					return
				}
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				var r result
				strict(t, out, &r)
				if got := lookup(map[string]any(r.Profile), strings.Split(group.field, ".")); len(got) != 1 || got[0] != want {
					t.Errorf("read as %v, want %s", got, want)
				}
			})
		}
	}
}

func TestHugeProfileIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := append([]byte("name: huge\n"), bytes.Repeat([]byte("# padding\n"), 1<<20)...)
	if err := os.WriteFile(filepath.Join(dir, "huge.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := knee(t, dir, "run", "huge.yaml", "--virtual")
	if want := "knee: huge.yaml: the file is larger than 1 MB: want a profile of at most 1 MB\n"; code != 2 || out != "" || stderr != want {
		t.Errorf("exit code %d, want 2, and %q, want %q", code, stderr, want)
	}
}

// TestUsageErrorsSendNothing holds that what is wrong with the command line or
// the profile is said before a server is so much as connected to.
func TestUsageErrorsSendNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int64
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "wrong.yaml"), []byte("load: {phases: [{kind: hold, rate: 10/s, fro: 1s}]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/"
	for _, args := range [][]string{
		{"run", "wrong.yaml", "--url", url},
		{"find", "nosuch", "--url", url},
		{"find", "--url", url, "--format", "xml"},
		{"find", "--url", url, "--virtual"},
		{"find", "--url", url, "-H", "Accept"},
		{"find", "--url", url, "--reject-when", "slow"},
		{"find", "--url", url, "--success-when", "slow"},
		{"find", "--url", url, "--body-file", "absent"},
		{"find", "--url", url, "--method", "GET /"},
		{"find", "--url", url, "--capacity", "fast"},
		{"find", "--url", url, "--max", "fast"},
		{"find", "--url", url, "--quick", "--certify"},
		{"find", "--url", url, "--set", "client.timeout=5"},
		{"find", "--url", url, "--order", "lifo"},
		{"find", "--url", url, "--nosuch"},
		{"find", "--url", url, "one", "two"},
	} {
		if out, stderr, code := knee(t, dir, args...); code != 2 || out != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("knee %s: exit code %d, want 2 and one line: %s%s", strings.Join(args, " "), code, out, stderr)
		}
	}
	l.Close()
	<-accepted
	if n := connections.Load(); n > 0 {
		t.Errorf("the server was connected to %d times", n)
	}
}
