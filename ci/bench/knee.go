package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"knee/analysis"
	"knee/generator/client"
	"knee/generator/live"
	"knee/generator/plan"
	"knee/generator/record"
)

// kneeProfile is the load of an open loop against a server that is not ours: how
// requests arrive, their rate, and for how long.
const kneeProfile = `name: bench
client: {timeout: 1s, grace: 1s, clients: 1}
load: {arrivals: %s, phases: [{kind: hold, rate: %s, for: %v}]}
`

// A variant is knee with flags of its own.
type variant struct {
	label    string
	arrivals string // default constant
	flags    []string
}

// tool returns knee, built at path, in an open loop: the way in which people use it.
func (v variant) tool(path string) tool {
	if v.arrivals == "" {
		v.arrivals = plan.Constant.String()
	}
	return tool{
		name: v.label,
		path: path,
		open: func(j job) (command, error) {
			profile := filepath.Join(j.dir, "knee.yaml")
			args := append([]string{"run", profile, "--url", j.url, "--format", "json", "--quiet"}, v.flags...)
			return command{args: args}, os.WriteFile(profile, fmt.Appendf(nil, kneeProfile, v.arrivals, number(j.rate), j.span), 0o600)
		},
		parse: func(out []byte) (tally, error) {
			var r analysis.Result
			if err := json.Unmarshal(out, &r); err != nil {
				return tally{}, err
			}
			if len(r.Steps) == 0 {
				return tally{}, errNoCount
			}
			var t tally
			for _, s := range r.Steps {
				t.Requests += s.Counts.Planned
				t.Failed += s.Counts.Planned - s.Counts.Good
			}
			return t, nil
		},
	}
}

// closedTool returns knee in a closed loop, which it has for no user: this
// program, at self, started again for closedLoop.
func closedTool(label, self string, e live.Engine) tool {
	return tool{
		name: label,
		path: self,
		closed: func(j job) (command, error) {
			return command{args: []string{
				"closed-loop", "-url", j.url, "-conns", number(float64(j.conns)), "-for", j.span.String(), "-engine", string(e),
			}}, nil
		},
		parse: parseTally,
	}
}

// parseTally reads what this program prints when it is a tool itself.
func parseTally(out []byte) (t tally, err error) {
	err = json.Unmarshal(out, &t)
	return t, err
}

// gcPercent is how much garbage the command line lets pile up.
const gcPercent = 400

// closedLoop drives a server with the live driver: each caller sends the next
// request when its last one was answered. It prints a tally.
func closedLoop(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("closed-loop", flag.ExitOnError)
	url := f.String("url", "", "server")
	conns := f.Int("conns", 64, "callers")
	span := f.Duration("for", time.Second, "how long")
	engine := f.String("engine", string(live.Auto), "what carries the requests")
	if err := f.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	target, err := live.ParseTarget(*url)
	if err != nil {
		return err
	}
	if err := live.CheckHost(target, nil); err != nil {
		return err
	}
	class := plan.Class{Name: "all", Weight: 1, Cost: 1, Timeout: time.Second, Deadline: time.Second}
	p, err := plan.New(plan.Spec{
		Classes: []plan.Class{class},
		Clients: 1,
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: plan.MaxRate, For: *span}},
	})
	if err != nil {
		return err
	}
	series := record.NewSeries([]string{class.Name})
	d, err := live.New(live.Options{
		Target: target,
		Client: client.Options{Classes: []plan.Class{class}, Grace: time.Second, MaxInFlight: *conns},
		Recorder: record.NewRecorder(record.RecorderOptions{
			Classes: []string{class.Name}, MaxLatency: 2 * time.Second,
			Sink: func(d *record.Delta) { series.Add(d); d.Release() },
		}),
		Engine: live.Engine(*engine),
	})
	if err != nil {
		return err
	}
	if err := errors.Join(d.RunClosed(ctx, 0, p, *conns), d.Close()); err != nil {
		return err
	}
	total := series.Total()
	return json.NewEncoder(os.Stdout).Encode(tally{Requests: total.Sent, Failed: total.Planned - total.Good})
}
