// Command bench measures knee beside the load generators that people would use instead.
//
//	go run ./ci/bench
//
// Peers are looked for on PATH: wrk, wrk2, h2load, bombardier, fortio, vegeta,
// hey, k6 and oha. Those that are not there are named and left out. So is nginx.
// Three tables come out:
//
//   - closed loop: 64 connections that are kept open, each with the next request
//     when the last one was answered. What counts is requests per second of the
//     tool's CPU time, user and system, with all that it takes to start and to
//     report. nginx, and knee's own server that does nothing, answer.
//   - open loop: constant rates against a server that records when requests come.
//     What counts is how far from equal gaps they are (see timing), and the CPU
//     time of each.
//   - goals: what knee is to reach, and whether it did.
//
// Every figure is a median over rounds, in each of which everything is measured
// once, in another order. Servers run on one CPU and the tools on another; only
// addresses of this machine are used. With five rounds all of it takes about
// half an hour, and wants a machine that has nothing else to do: what was
// disturbed is said below the tables.
//
//	go run ./ci/bench -tables closed -peers wrk,vegeta -rounds 3 -for 2s
//	go run ./ci/bench -tables open -rates 10000 -engines auto,nethttp
//	go run ./ci/bench -format json >bench.json
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"knee/generator/live"
)

// parts are what this program starts itself for.
var parts = map[string]func(ctx context.Context, args []string) error{
	"recording":   recordingLoop,
	"slow-server": slowServer,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		if part, ok := parts[args[0]]; ok {
			return part(ctx, args[1:])
		}
	}
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	return bench(ctx, o, stdout, stderr)
}

// bench measures, and prints the tables.
func bench(ctx context.Context, o options, stdout, stderr io.Writer) error {
	found, absent, err := present(o.names)
	if err != nil {
		return err
	}
	k := &kit{options: o, knee: o.kneePath, progress: stderr}
	if k.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(k.dir)
	if k.self, err = os.Executable(); err != nil {
		return err
	}
	if k.knee == "" {
		k.knee = filepath.Join(k.dir, "knee")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", k.knee, "knee/cmd/knee").CombinedOutput(); err != nil {
			return fmt.Errorf("building knee: %w\n%s", err, out)
		}
	}
	if err := k.place(); err != nil {
		return err
	}
	r := report{Absent: absent, Machine: thisMachine(&o)}
	if k.nginx == "" {
		r.Absent = append(r.Absent, "nginx")
	}
	if len(r.Absent) > 0 {
		fmt.Fprintf(stderr, "not here, and left out: %s\n", strings.Join(r.Absent, " "))
	}
	stopped := k.measureAll(ctx, found)
	r.Rows = k.sheet.rows
	if k.wants("goals") {
		r.Goals = goals(&k.sheet)
	}
	r.Disturbed = disturbed(k.sheet.rows)
	return errors.Join(r.print(&o, stdout), stopped) // what was measured until then is worth as much
}

// What tables call knee as it is without flags, and the loop that does nothing else.
const (
	kneeName = "knee"
	bareName = "bare loop"
)

// measureAll makes the tables that are asked for.
func (k *kit) measureAll(ctx context.Context, found []tool) error {
	var closed, open []tool
	for i, e := range k.engines {
		label, flags := kneeName, []string(nil)
		if live.Engine(e) != live.Auto {
			label, flags = kneeName+" "+e, []string{"--engine", e}
		}
		closed = append(closed, closedTool(label, k.knee, live.Engine(e)))
		open = append(open, variant{label: label, flags: flags}.tool(k.knee))
		if i == 0 {
			open = append(open, variant{label: label + coarse, flags: append(flags, "--set", "load.tick=1ms")}.tool(k.knee))
		}
	}
	if bare, ok := bareTool(k.self); ok {
		closed, open = append(closed, bare), append(open, bare)
	}
	if k.wants("closed") {
		if err := k.measureAllClosed(ctx, append(closed, found...)); err != nil {
			return err
		}
	}
	if k.wants("open") {
		if err := k.measureAllOpen(ctx, append(open, found...)); err != nil {
			return err
		}
	}
	if k.wants("goals") {
		return k.measureGoals(ctx)
	}
	return nil
}

// coarse follows the name of knee where it wakes once a millisecond.
const coarse = ", tick 1ms"
