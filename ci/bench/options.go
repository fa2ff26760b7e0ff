package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/generator/host"
	"knee/generator/live"
)

// options are the flags.
type options struct {
	tables       []string // which to make: closed, open, goals
	rounds       int
	span         time.Duration // of each run of a tool
	rates        rates
	conns        int
	names        []string // of peers; none: all
	engines      []string // of knee
	serverCPU    int
	generatorCPU int
	kneePath     string
	nginx        string // where it is; "": it is left out
	long         bool
	seed         uint64
	format       string
}

// rates is a list of requests per second.
type rates []float64

func (r *rates) String() string {
	var words []string
	for _, v := range *r {
		words = append(words, number(v))
	}
	return strings.Join(words, ",")
}

func (r *rates) Set(list string) error {
	*r = nil
	for word := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || !(v >= 1 && v <= 1e6) {
			return fmt.Errorf("%q: want rates from 1 to 1000000, with commas between them", word)
		}
		*r = append(*r, v)
	}
	return nil
}

// parseOptions reads the flags. When help is asked for, it is written, and the
// error is flag.ErrHelp.
func parseOptions(args []string, help io.Writer) (options, error) {
	o := options{rates: rates{5000, 10000, 20000, 50000}}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	var said strings.Builder // main says what is wrong: here it is help that is asked for
	f.SetOutput(&said)
	tables := f.String("tables", "closed,open,goals", "which `tables` to make")
	f.IntVar(&o.rounds, "rounds", 5, "how often everything is measured, interleaved")
	f.DurationVar(&o.span, "for", 4*time.Second, "how long each tool runs, in whole seconds")
	f.Var(&o.rates, "rates", "rates of the open loop, per second")
	f.IntVar(&o.conns, "conns", 64, "connections of each tool")
	names := f.String("peers", "", "`names` of the peers to look for; default all")
	engines := f.String("engines", string(live.Auto), "`engines` of knee to measure, of "+fmt.Sprint(live.Engines()))
	server, generator := usualPlaces()
	f.IntVar(&o.serverCPU, "server-cpu", server, "CPU of the servers; -1: any")
	f.IntVar(&o.generatorCPU, "generator-cpu", generator, "CPU of the tools; -1: any")
	f.StringVar(&o.kneePath, "knee", "", "`program` to measure; default: it is built from this tree")
	f.StringVar(&o.nginx, "nginx", findNginx(), "`program` of nginx; empty: without it")
	f.BoolVar(&o.long, "long", true, "for the goals: also what takes a minute each round")
	f.Uint64Var(&o.seed, "seed", 1, "of the order of the runs")
	f.StringVar(&o.format, "format", "text", "text or json")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(help, said.String())
		return o, err
	case err != nil:
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("argument %q: there are flags only", f.Arg(0))
	}
	o.tables, o.names, o.engines = words(*tables), words(*names), words(*engines)
	return o, o.check()
}

// words splits a list at its commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
}

// check refuses values that are not allowed.
func (o *options) check() error {
	var errs []error
	for _, t := range o.tables {
		if !slices.Contains([]string{"closed", "open", "goals"}, t) {
			errs = append(errs, fmt.Errorf("-tables %s: want some of closed, open, goals", t))
		}
	}
	for _, e := range o.engines {
		if !slices.Contains(live.Engines(), live.Engine(e)) {
			errs = append(errs, fmt.Errorf("-engines %s: want some of %v", e, live.Engines()))
		}
	}
	if o.rounds < 1 || o.rounds > 100 {
		errs = append(errs, fmt.Errorf("-rounds %d: want 1 to 100", o.rounds))
	}
	if o.span < time.Second || o.span > time.Minute || o.span%time.Second != 0 {
		errs = append(errs, fmt.Errorf("-for %v: want 1s to 1m, in whole seconds, as some peers know no others", o.span))
	}
	if o.conns < 1 || o.conns > 10_000 {
		errs = append(errs, fmt.Errorf("-conns %d: want 1 to 10000", o.conns))
	}
	if o.format != "text" && o.format != "json" {
		errs = append(errs, fmt.Errorf("-format %s: want text or json", o.format))
	}
	if allowed, err := host.Allowed(); err == nil {
		for _, cpu := range []int{o.serverCPU, o.generatorCPU} {
			if cpu >= 0 && !slices.Contains(allowed, cpu) {
				errs = append(errs, fmt.Errorf("CPU %d: want one of %v", cpu, allowed))
			}
		}
	}
	return errors.Join(errs...)
}

// wants says whether a table is asked for.
func (o *options) wants(table string) bool { return slices.Contains(o.tables, table) }
