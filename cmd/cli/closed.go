package cli

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"knee/ci/verdict"
	"knee/generator/client"
	"knee/generator/live"
	"knee/generator/plan"
	"knee/generator/record"
)

// closedOptions are the flags of closed-loop.
type closedOptions struct {
	url    string
	conns  int
	span   time.Duration
	engine string
}

// newClosedCmd returns the verb that is not for measuring servers: one that is
// slow slows its callers, and looks better than it is. It says how many requests
// a CPU of the generator can carry, beside other generators in closed loops.
func newClosedCmd(w *world) *cobra.Command {
	var o closedOptions
	cmd := &cobra.Command{
		Use:    "closed-loop",
		Short:  "how fast callers are served that wait for each other: to compare load generators",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return runClosed(cmd.Context(), w, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "drive the server at `URL`, on this machine")
	f.IntVar(&o.conns, "conns", 64, "`N` callers, each with a connection")
	f.DurationVar(&o.span, "for", time.Second, "for how long")
	f.StringVar(&o.engine, "engine", string(live.Auto), "`ENGINE` that carries the requests")
	return cmd
}

// closedResult is what closed-loop prints, as one line of JSON.
type closedResult struct {
	Requests uint64 `json:"requests"` // that were sent
	Failed   uint64 `json:"failed"`   // of those, without a good answer in time
}

// runClosed carries out closed-loop: every caller sends the next request when its
// last one has ended.
func runClosed(ctx context.Context, w *world, o *closedOptions) error {
	target, err := live.ParseTarget(o.url)
	if err != nil {
		return fail(verdict.CodeUsage, "--url: %w", err)
	}
	routes, err := live.NewRoutes(live.HTTP{}, target)
	if err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	if err := routes.Check(nil); err != nil {
		return fail(verdict.CodeNotStarted, "%w", err)
	}
	if o.conns < 1 {
		return fail(verdict.CodeUsage, "--conns %d: want at least 1", o.conns)
	}
	class := plan.Class{Name: "all", Weight: 1, Cost: 1, Timeout: time.Second, Deadline: time.Second}
	p, err := plan.New(plan.Spec{
		Classes: []plan.Class{class},
		Clients: 1,
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: plan.MaxRate, For: o.span}},
	})
	if err != nil {
		return fail(verdict.CodeUsage, "--for %v: %w", o.span, err)
	}
	defer place(pinOff, 0, 0).release()
	series := record.NewSeries([]string{class.Name})
	d, err := live.New(live.Options{
		Target: target,
		Routes: routes,
		Client: client.Options{Classes: []plan.Class{class}, Grace: time.Second, MaxInFlight: o.conns},
		Recorder: record.NewRecorder(record.RecorderOptions{
			Classes: []string{class.Name}, MaxLatency: 2 * time.Second,
			Sink: func(d *record.Delta) { series.Add(d); d.Release() },
		}),
		Engine: live.Engine(o.engine),
	})
	if err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	if err := errors.Join(d.RunClosed(ctx, 0, p, o.conns), d.Close()); err != nil {
		return err
	}
	total := series.Total()
	return json.NewEncoder(w.stdout).Encode(closedResult{Requests: total.Sent, Failed: total.Sent - total.Good})
}
