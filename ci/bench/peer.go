package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A job is what a load generator is asked to do: GET requests of one URL over a
// number of connections that are kept open.
type job struct {
	url   string
	conns int
	rate  float64 // requests per second; 0 in a closed loop: the next one when the last was answered
	span  time.Duration
	dir   string // for files, this job's own
}

// seconds returns the span for flags that want whole seconds, at least 1.
func (j job) seconds() string {
	return strconv.Itoa(max(int(j.span.Round(time.Second)/time.Second), 1))
}

// perConn returns the rate of one connection.
func (j job) perConn() string { return number(j.rate / float64(j.conns)) }

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// A command is how a tool is started.
type command struct {
	path   string // of the program; default: the tool's
	args   []string
	env    []string // beside the environment
	stdin  string
	report []string // arguments of a second start that prints what the first one measured, and is not measured
}

// A tally is what a tool says it did.
type tally struct {
	Requests uint64 // that were answered
	Failed   uint64 // of those, or beside them: whatever the tool does not call a success
}

// A tool is a load generator.
type tool struct {
	name   string                       // how tables call it, and the program's name on PATH
	closed func(j job) (command, error) // nil: it has no closed loop
	open   func(j job) (command, error) // nil: it cannot hold a rate
	parse  func(out []byte) (tally, error)
	path   string // of the program, once it is found
}

// peers are the tools that knee is measured beside, if they are there.
func peers() []tool {
	return []tool{wrk, wrk2, h2load, bombardier, fortio, vegeta, hey, k6, oha}
}

// present returns the peers whose programs are on PATH, and the names of those
// that are not. Only the named ones are looked for, unless none are named.
func present(names []string) (found []tool, absent []string, err error) {
	all := peers()
	for _, n := range names {
		if !slices.ContainsFunc(all, func(t tool) bool { return t.name == n }) {
			return nil, nil, fmt.Errorf("peer %q: want some of %s", n, strings.Join(namesOf(all), " "))
		}
	}
	for _, t := range all {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		if t.path, err = exec.LookPath(t.name); err != nil {
			absent = append(absent, t.name)
			continue
		}
		found = append(found, t)
	}
	return found, absent, nil
}

func namesOf(tools []tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

// errNoCount says that a tool's output does not hold what is looked for.
var errNoCount = errors.New("no count of requests in what it printed")

// counted returns the number that the first group of re finds in out, and 0 when
// it finds nothing.
func counted(re *regexp.Regexp, out []byte) (n uint64, found bool) {
	m := re.FindSubmatch(out)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(m[1]), 10, 64)
	return n, err == nil
}
