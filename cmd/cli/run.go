package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

func newRunCmd(w *world) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run PROFILE",
		Short: "run any profile: its phases, its faults and its checks",
		Long: `run offers the phases of a profile one after another, puts its faults into the
server meanwhile, and judges its checks.
Each load of a sweep is a trial of its own: a built-in server starts it empty,
and the load is held for a moment before it is measured.`,
		Example: `  knee run default
  knee run ./surge.yaml --virtual --set load.phases.0.rate=0.9x
  knee run unprotected --virtual --format json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.seedSet = cmd.Flags().Changed("seed")
			return runRun(cmd.Context(), w, o, args[0])
		},
	}
	o.addLoad(cmd.Flags())
	return cmd
}

// runRun carries out run.
func runRun(ctx context.Context, w *world, o *runOptions, profile string) error {
	o.guarded = true
	s, err := open(ctx, w, o, "run", profile, peakOf)
	if err != nil {
		return err
	}
	plans, err := s.plans()
	if err != nil {
		return errors.Join(err, s.close())
	}
	return s.conclude(ctx, s.runPlans(ctx, plans))
}

// peakOf returns the highest rate of a profile's load, 0 when it is not known.
func peakOf(p *profiles.Profile) float64 {
	peak, err := p.Peak(p.Capacity())
	if err != nil {
		return 0
	}
	return peak
}

// A planned trial, and whether a built-in server starts it empty.
type plannedTrial struct {
	plan  *plan.Plan
	reset bool
}

// plans lays the profile's phases out as trials: one for each load of each pass
// of a sweep, and one for every stretch of other phases.
func (s *session) plans() ([]plannedTrial, error) {
	spec, err := s.profile.PlanSpec(s.capacity())
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	var trials []plannedTrial
	add := func(phases []plan.Phase, reset bool) error {
		if len(phases) == 0 {
			return nil
		}
		part := spec
		part.Phases = phases
		part.Seed = trialSeed(s.profile.Seed, len(trials))
		p, err := plan.New(part)
		if err != nil {
			return fail(verdict.CodeUsage, "%w", err)
		}
		trials = append(trials, plannedTrial{plan: p, reset: reset})
		return nil
	}
	var stretch []plan.Phase
	for _, ph := range spec.Phases {
		if ph.Kind != plan.Sweep {
			stretch = append(stretch, ph)
			continue
		}
		if err := add(stretch, false); err != nil {
			return nil, err
		}
		stretch = nil
		loads := spec
		loads.Phases = []plan.Phase{ph}
		sweep, err := plan.New(loads)
		if err != nil {
			return nil, fail(verdict.CodeUsage, "%w", err)
		}
		for _, step := range sweep.Steps() {
			if err := add([]plan.Phase{
				{Kind: plan.Hold, Label: analysis.Settle, Rate: step.From, For: s.settle()},
				{Kind: plan.Hold, Label: step.Label, Name: step.Name, Rate: step.From, For: step.Duration},
			}, true); err != nil {
				return nil, err
			}
		}
	}
	if err := add(stretch, len(trials) > 0); err != nil {
		return nil, err
	}
	return trials, nil
}

// settle is how long a load of a sweep is held before it is measured: three
// timeouts, so that every queue that can be served in time has filled.
func (s *session) settle() time.Duration { return record.NextWindow(3 * s.longest()) }

// runPlans runs the trials in order. It says beforehand how many arrivals they
// bring, and afterwards when it was another number.
func (s *session) runPlans(ctx context.Context, trials []plannedTrial) error {
	var arrivals uint64
	var total time.Duration
	for _, t := range trials {
		arrivals += t.plan.Count()
		total += t.plan.Duration()
	}
	s.inject(total)
	defer s.listen(ctx)()
	progress := newProgress(s)
	progress.say("%d arrivals in %v of load", arrivals, total.Round(100*time.Millisecond))
	ctx, stop := progress.start(ctx, total)
	defer stop()
	for _, t := range trials {
		steps := t.plan.Steps()
		last := steps[len(steps)-1]
		progress.load(last.Label, last.Rate())
		if t.reset {
			if err := s.reset(ctx); err != nil {
				return err
			}
		}
		done, err := s.offer(ctx, t.plan)
		if err != nil {
			return err
		}
		progress.point(analysis.StepOf(done[len(done)-1], s.series, s.meta))
	}
	if planned := s.series.Total().Planned; planned != arrivals {
		return fail(verdict.CodeInternal, "%d arrivals came, where the plan has %d", planned, arrivals)
	}
	return nil
}
