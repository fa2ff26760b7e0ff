package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"knee/cmd/cli"
)

var update = flag.Bool("update", false, "rewrite the golden parts of the scripts and of the documents")

// TestMain makes this binary knee when it is started under that name, as the
// scripts and knee's own child do.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"knee": func() { os.Exit(cli.Main()) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"json":    jsonCmd,
			"halve":   halve,
			"noesc":   noEscape,
			"repeats": repeats,
		},
	})
}

func TestScriptsAskAQuestion(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if !strings.HasPrefix(first, "# ") || !strings.HasSuffix(first, "?") {
			t.Errorf("%s begins with %q, want a comment that asks a question", name, first)
		}
	}
}

// exits CODE COMMAND… runs a command that must end with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n[stdout]\n%s[stderr]\n%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// json FILE PATH OP WANT compares what stands at a path of a JSON file, such as
// steps.0.phase or steps.*.valid, where every value must fit. OP is ==, <= or >=.
func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: json FILE PATH OP WANT")
	}
	var document any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &document))
	found := lookup(document, strings.Split(args[1], "."))
	if len(found) == 0 {
		ts.Fatalf("%s: nothing at %s", args[0], args[1])
	}
	for _, got := range found {
		if !compare(got, args[2], args[3]) {
			ts.Fatalf("%s: %s is %v, want %s %s", args[0], args[1], got, args[2], args[3])
		}
	}
}

// lookup returns what stands at path in v; an element * is every one of a list.
func lookup(v any, path []string) []any {
	if len(path) == 0 {
		return []any{v}
	}
	switch v := v.(type) {
	case map[string]any:
		if next, ok := v[path[0]]; ok {
			return lookup(next, path[1:])
		}
	case []any:
		if path[0] == "*" {
			var all []any
			for _, item := range v {
				all = append(all, lookup(item, path[1:])...)
			}
			return all
		}
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(v) {
			return lookup(v[i], path[1:])
		}
	}
	return nil
}

func compare(got any, op, want string) bool {
	if op == "==" {
		return fmt.Sprint(got) == want || want == "null" && got == nil
	}
	number, ok := got.(float64)
	limit, err := strconv.ParseFloat(want, 64)
	if !ok || err != nil {
		return false
	}
	return op == "<=" && number <= limit || op == ">=" && number >= limit
}

// halve FILE cuts a file in the middle of a line, as a kill does.
func halve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: halve FILE")
	}
	text := []byte(ts.ReadFile(args[0]))
	half := text[:len(text)/2]
	start := bytes.LastIndexByte(half, '\n') + 1
	if len(half) < start+10 {
		half = text[:start+10]
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), half, 0o644))
}

// noesc FILE… fails when a file holds an ESC byte.
func noEscape(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		if strings.Contains(ts.ReadFile(name), "\x1b") != neg {
			ts.Fatalf("%s: an ESC byte: %v, want %v", name, !neg, neg)
		}
	}
}

// repeats COMMAND… runs a command a second time: it must print the same bytes.
func repeats(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: repeats COMMAND…")
	}
	var printed [2]string
	for i := range printed {
		ts.Check(ts.Exec(args[0], args[1:]...))
		if printed[i] = ts.ReadFile("stdout"); printed[i] == "" {
			ts.Fatalf("nothing on stdout")
		}
	}
	if printed[0] != printed[1] {
		ts.Fatalf("a second run printed something else:\n%s\n---\n%s", printed[0], printed[1])
	}
}

// knee runs knee in dir, with nothing on stdin, and returns what it printed and
// its exit code.
func knee(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("knee", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatalf("knee %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
