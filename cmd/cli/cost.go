package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"knee/ci/verdict"
	"knee/generator/host"
	"knee/generator/live"
	"knee/profiles"
	"knee/target/serve"
)

// costVerb prices rejections.
const costVerb = "cost"

// costOptions are the flags of cost alone.
type costOptions struct {
	pid    int
	cgroup string
	stages []string
}

func newCostCmd(w *world) *cobra.Command {
	o := &runOptions{cost: &costOptions{}}
	cmd := &cobra.Command{
		Use:   "cost [PROFILE]",
		Short: "price a rejection: CPU per no and per yes, at each stage where a server can say no",
		Long: `cost offers loads below the knee and far beyond it, in random order, and finds
from the CPU that the server used what a success costs and what a rejection does.
The built-in server is tried at each stage at which it can refuse a request:
accept (before a byte is read), headers, handler and late (after the body was
read and checked), each time as a fresh process on CPUs of its own.

From both prices follow the share of the goodput that is left at ten times the
capacity, and the load at which rejections alone fill the server. That load is
then offered, if it can be. A CPU profile of the server is taken while it serves
and while it rejects; with --out both are kept in the folder of the run.

Of a server at --url that runs on this machine the process has to be named, with
--pid or --cgroup: the load generator uses the same CPUs.`,
		Example: `  knee cost --virtual --set target.reject_cost=0.02
  knee cost --stage handler --stage late
  knee cost --url http://127.0.0.1:8080/ --pid 4711 --capacity 800`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.seedSet = cmd.Flags().Changed("seed")
			return runCost(cmd.Context(), w, o, first(args))
		},
	}
	f := cmd.Flags()
	o.addLoad(f)
	f.BoolVar(&o.quick, "quick", false, "a coarse answer in half a minute, at the stage of the profile alone")
	f.Var((*given)(&o.max), "max", "highest `LOAD`: a multiple of the capacity, or a rate that is never exceeded (default 10x)")
	f.Var((*positive)(&o.step), "step", "measured time of each load, in whole fifths of a second (default 800ms)")
	f.IntVar(&o.cost.pid, "pid", 0, "number `N` of the process whose CPU is counted, of a server at --url")
	f.StringVar(&o.cost.cgroup, "cgroup", "", "directory `DIR` of the control group whose CPU is counted, of a server at --url")
	f.StringArrayVar(&o.cost.stages, "stage", nil, "only this `STAGE` of the built-in server: accept, headers, handler or late; repeatable")
	return cmd
}

// runCost carries out cost.
func runCost(ctx context.Context, w *world, o *runOptions, profile string) error {
	limit, multiple, err := o.ceiling()
	if err != nil {
		return err
	}
	if err := o.checkCost(); err != nil {
		return err
	}
	if profile == "" && !o.remote() {
		profile = "cost"
	}
	s, err := open(ctx, w, o, costVerb, profile, func(*profiles.Profile) float64 { return 0 })
	if err != nil {
		return err
	}
	c, err := newCoster(s, limit, multiple)
	if err != nil {
		return errors.Join(err, s.close())
	}
	return s.conclude(ctx, c.run(ctx))
}

// checkCost refuses what cost cannot do, before anything is sent.
func (o *runOptions) checkCost() error {
	c := o.cost
	for _, stage := range c.stages {
		if !slices.Contains(serve.Stages(), serve.Stage(stage)) {
			return fail(verdict.CodeUsage, "--stage %s: want accept, headers, handler or late", stage)
		}
	}
	watched := "--pid"
	if c.pid == 0 {
		watched = "--cgroup"
	}
	switch {
	case c.pid != 0 && c.cgroup != "":
		return fail(verdict.CodeUsage, "--pid with --cgroup: want one of them")
	case (c.pid != 0 || c.cgroup != "") && !o.remote():
		return fail(verdict.CodeUsage, "%s without --url: the process of the built-in server is known", watched)
	case c.pid < 0:
		return fail(verdict.CodeUsage, "--pid %d: want the number of a process", c.pid)
	case len(c.stages) > 0 && o.remote():
		return fail(verdict.CodeUsage, "--stage with --url: where a server outside knee says no is its own affair; want one of them")
	case len(c.stages) > 0 && o.virtual:
		return fail(verdict.CodeUsage, "--stage with --virtual: what a stage costs is real, and a server in virtual time has none; want one of them")
	case len(c.stages) > 0 && o.quick:
		return fail(verdict.CodeUsage, "--stage with --quick: --quick looks at the stage of the profile alone; want one of them")
	case o.request.call.call != "" && !o.remote():
		return fail(verdict.CodeUsage, "--call without --url: the stages of the built-in server are those of HTTP/1.1")
	}
	if c.pid != 0 {
		if c.pid == os.Getpid() {
			return fail(verdict.CodeUsage, "--pid %d: that is knee itself: want the process of the server", c.pid)
		}
		if _, err := host.ProcessCPU(c.pid); err != nil {
			return fail(verdict.CodeUsage, "--pid: %w", err)
		}
	}
	if c.cgroup != "" {
		if _, err := host.GroupCPU(c.cgroup); err != nil {
			return fail(verdict.CodeUsage, "--cgroup: %w", err)
		}
	}
	return nil
}

// unwatched refuses a server on this machine whose share of its CPUs nobody knows.
func (o *runOptions) unwatched(routes *live.Routes) error {
	if o.cost == nil || o.cost.pid != 0 || o.cost.cgroup != "" {
		return nil
	}
	if here := routes.Here(); here != "" {
		return fail(verdict.CodeUsage, "%s is on this machine, and the load generator uses its CPUs: want --pid N or --cgroup DIR, so that the server's share is known", here)
	}
	return nil
}

// costStages returns the stages at which the built-in server is tried, and why others
// are not.
func (s *session) costStages() (stages []string, left []string, err error) {
	switch {
	case s.o.remote():
		return []string{""}, nil, nil
	case s.o.virtual, s.o.quick:
		return []string{s.profile.Target.ShedAt}, nil, nil
	}
	for _, stage := range serve.Stages() {
		if len(s.o.cost.stages) > 0 && !slices.Contains(s.o.cost.stages, string(stage)) {
			continue
		}
		p := *s.profile
		p.Target.ShedAt = string(stage)
		cfg, err := serverConfig(&p)
		if err == nil {
			err = cfg.Check()
		}
		if err != nil {
			left = append(left, fmt.Sprintf("stage %s was left out: %s", stage, strings.ReplaceAll(err.Error(), "\n", "; ")))
			continue
		}
		stages = append(stages, string(stage))
	}
	if len(stages) == 0 {
		return nil, nil, fail(verdict.CodeUsage, "no stage is left to try: %s", strings.Join(left, "; "))
	}
	return stages, left, nil
}
