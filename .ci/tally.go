//go:build ignore

// Command tally reads what `go test -json` wrote. It prints one line for each
// package, what failed tests and builds said, and last the number of tests.
//
// A test that has subtests counts as its subtests: they are what passes or fails.
// Usage: tally FILE…; only the first file counts passes and skips, the others
// repeat tests of it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is a line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of what was built
	Test       string
	Elapsed    float64
	Output     string
}

// tests are the ends of the tests of one run.
type tests struct {
	ends    map[string]string // pass, skip or fail, by package and test
	parents map[string]bool   // those that have subtests
	output  map[string]*strings.Builder
	broken  int // packages that failed without a failed test
}

func main() {
	var passed, skipped, failed int
	for i, name := range os.Args[1:] {
		t, err := read(name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "tally: %s: %v\n", name, err)
			os.Exit(1)
		}
		failed += t.broken
		for test, end := range t.ends {
			switch {
			case end == "fail":
				failed++ // a parent that fails fails with its subtests, or alone
			case i > 0 || t.parents[test]:
			case end == "pass":
				passed++
			case end == "skip":
				skipped++
			}
		}
	}
	fmt.Printf("tests: %d passed, %d skipped, %d failed\n", passed, skipped, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

func read(name string) (*tests, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &tests{ends: map[string]string{}, parents: map[string]bool{}, output: map[string]*strings.Builder{}}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				t.add(e)
			} else {
				os.Stdout.Write(line) // not of a test: a message of the go command
			}
		}
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (t *tests) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if t.output[key] == nil {
			t.output[key] = &strings.Builder{}
		}
		t.output[key].WriteString(e.Output)
	case "pass", "skip", "fail":
		if said := t.output[key]; said != nil && e.Action == "fail" {
			fmt.Print(said)
		}
		delete(t.output, key)
		if e.Test == "" {
			t.end(e)
			return
		}
		t.ends[key] = e.Action
		for parent := e.Test; strings.Contains(parent, "/"); {
			parent = parent[:strings.LastIndex(parent, "/")]
			t.parents[e.Package+" "+parent] = true
		}
	}
}

// end prints how a package ended.
func (t *tests) end(e event) {
	fmt.Printf("%-5s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
	if e.Action != "fail" {
		return
	}
	for key, end := range t.ends {
		if end == "fail" && strings.HasPrefix(key, e.Package+" ") {
			return
		}
	}
	t.broken++
}
