package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"knee/analysis"
	"knee/ci/report"
	"knee/ci/verdict"
	"knee/profiles"
)

// What --annotate can be.
const (
	annotateAuto   = "auto"
	annotateGitHub = "github"
	annotateOff    = "off"
)

// gateOptions say what a gate writes beside the result, and what an inconclusive
// run counts as.
type gateOptions struct {
	junit        string
	annotate     string
	inconclusive string           // verdict.Pass or verdict.Fail; "" is neither
	baseline     string           // folder of a run that this one is laid beside
	before       *analysis.Result // the run there; nil when there is none
}

// gateVerb judges a run for a job that passes or fails.
const gateVerb = "gate"

func (g *gateOptions) add(f *pflag.FlagSet) {
	f.Var((*given)(&g.junit), "junit", "write the checks as JUnit XML to `FILE`")
	f.StringVar(&g.annotate, "annotate", annotateAuto, "`WHERE` to show the checks beside the result: github, off, or auto, which is github in its workflows")
	f.Var((*given)(&g.baseline), "baseline", "also say how the answers differ from those of the finished run in the folder `DIR`; they decide nothing")
	f.StringVar(&g.inconclusive, "inconclusive", "", "what an inconclusive run counts as, `pass` or fail (default: exit code 5)")
}

// check refuses what is not allowed, and a file that cannot be written, before
// anything is sent.
func (g *gateOptions) check() error {
	if !slices.Contains([]string{annotateAuto, annotateGitHub, annotateOff}, g.annotate) {
		return fail(verdict.CodeUsage, "--annotate %s: want auto, github or off", g.annotate)
	}
	if !slices.Contains([]string{"", verdict.Pass, verdict.Fail}, g.inconclusive) {
		return fail(verdict.CodeUsage, "--inconclusive %s: want pass or fail", g.inconclusive)
	}
	if g.baseline != "" {
		var err error
		if g.before, err = keptResult(g.baseline); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
	}
	if g.junit == "" {
		return nil
	}
	// An old one must not pass for that of a run that never came so far.
	if err := os.WriteFile(g.junit, nil, 0o644); err != nil {
		return fail(verdict.CodeUsage, "--junit: %w", err)
	}
	return nil
}

func newGateCmd(w *world) *cobra.Command {
	o := &runOptions{gate: &gateOptions{}, pair: &pairOptions{}}
	cmd := &cobra.Command{
		Use:   "gate [PROFILE]",
		Short: "for CI: run a profile, judge its checks, write JUnit and annotations",
		Long: `gate does as run, for a job that is to pass or to fail: the profile must have
checks, and they decide. A check that is not met ends with 1. One that could not
be judged, because its load was not really offered, or too little came back, ends
with 5, unless --inconclusive says otherwise: never with 0 by itself.

Two builds of a server are compared with --baseline-cmd and --candidate-cmd, each a
command that starts one of them at --url. knee runs them by turns, in an order that a
coin decides, each time as a fresh process and under the same loads, until it is sure
for each of six metrics whether the candidate is worse by more than 5% (10% for
recovery and the cost of a rejection). That identical builds fail happens at most
once in a hundred gates, on however noisy a machine: it rests on the coin. The
profile's checks are not judged then. --baseline DIR lays a finished run beside this
one, which is worth a look and no verdict: its knee is also where a comparison's
loads come from.

In a workflow of GitHub the checks that are not met are shown as annotations, and
a summary with the curve is added to the step.`,
		Example: `  knee gate --virtual
  knee gate default --virtual --junit knee.xml
  knee gate ./surge.yaml --url http://127.0.0.1:8080/ --inconclusive=fail
  knee gate --virtual --candidate-set target.service.mean=23ms
  knee gate --baseline-cmd ./old --candidate-cmd ./new --url http://127.0.0.1:8080/ --capacity 800`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.seedSet = cmd.Flags().Changed("seed")
			return runGate(cmd.Context(), w, o, first(args))
		},
	}
	o.addLoad(cmd.Flags())
	o.gate.add(cmd.Flags())
	o.pair.add(cmd.Flags())
	cmd.Flags().Var((*positive)(&o.step), "step", "of a comparison, measured time of each load, in whole fifths of a second (default 1s)")
	cmd.Flags().Var((*given)(&o.max), "max", "of a comparison, highest `LOAD`, as a rate that is never exceeded (default 10x)")
	return cmd
}

// runGate carries out gate. What keeps the run from starting stands in the JUnit
// file too: those who look there alone must not take silence for success.
func runGate(ctx context.Context, w *world, o *runOptions, profile string) error {
	if err := o.gate.check(); err != nil {
		return err
	}
	if err := o.pair.check(o); err != nil {
		return errors.Join(err, o.gate.notRun(err))
	}
	if o.pair.wanted() {
		return runPair(ctx, w, o, profile)
	}
	o.guarded = true
	s, err := open(ctx, w, o, gateVerb, profile, peakOf)
	if err != nil {
		return errors.Join(err, o.gate.notRun(err))
	}
	plans, err := s.plans()
	if err != nil {
		return errors.Join(err, s.close(), o.gate.notRun(err))
	}
	return s.conclude(ctx, s.runPlans(ctx, plans))
}

// wants refuses a profile that has nothing to judge.
func (g *gateOptions) wants(p *profiles.Profile) error {
	if len(p.Checks) == 0 {
		return fail(verdict.CodeUsage, "profile %s has no checks: a gate wants at least one, such as plateau >= 0.9", p.Name)
	}
	return nil
}

// notRun writes why there was no run to the JUnit file.
func (g *gateOptions) notRun(why error) error {
	if g.junit == "" {
		return nil
	}
	var b bytes.Buffer
	err := report.JUnitNotRun(&b, why.Error())
	return errors.Join(err, os.WriteFile(g.junit, b.Bytes(), 0o644))
}

// beside lays the run at --baseline beside this one.
func (g *gateOptions) beside(r *analysis.Result) {
	if g != nil && g.before != nil {
		r.Baseline = analysis.Compare([]string{filepath.Clean(g.baseline), "this run"}, []*analysis.Result{g.before, r})
	}
}

// write writes what a gate writes beside its result. A summary or an output that
// GitHub refuses changes no verdict.
func (g *gateOptions) write(w *world, r *analysis.Result) error {
	if g.junit != "" {
		var b bytes.Buffer
		if err := report.JUnit(&b, r, g.inconclusive); err != nil {
			return err
		}
		if err := os.WriteFile(g.junit, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	actions, _ := w.env("GITHUB_ACTIONS")
	if g.annotate == annotateOff || g.annotate == annotateAuto && actions != "true" {
		return nil
	}
	// The runner reads commands from both streams; stdout is the result's.
	if err := report.GitHub(w.stderr, r, g.inconclusive); err != nil {
		return err
	}
	if path, set := w.env("GITHUB_OUTPUT"); set && path != "" {
		if err := appendTo(path, func(f io.Writer) error { return report.Outputs(f, r) }); err != nil {
			fmt.Fprintf(w.stderr, "knee: the outputs of the step could not be written: %v\n", err)
		}
	}
	if path, set := w.env("GITHUB_STEP_SUMMARY"); set && path != "" {
		if err := appendTo(path, func(f io.Writer) error { return report.Markdown(f, r) }); err != nil {
			fmt.Fprintf(w.stderr, "knee: the summary of the step could not be written: %v\n", err)
		}
	}
	return nil
}

// appendTo appends what write writes to the file at path.
func appendTo(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
