package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/analysis/knee"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/generator/search"
	"knee/profiles"
)

// How long the search may take. Where callers wait longer than half a second,
// it gets as much longer: a trial must outlast many timeouts to say anything.
const (
	findBudget  = 45 * time.Second
	findPatient = 90 // timeouts, when that is longer
	quickBudget = 11 * time.Second
	quickSearch = 20 * time.Second // of a server that gets no spike
	rowBudget   = 25 * time.Second // of a row of a scoreboard, which has many
	rowPatient  = 40               // timeouts, when that is longer
)

func newFindCmd(w *world) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "find [PROFILE]",
		Short: "find the goodput knee, judge the plateau to 10x, measure recovery",
		Long: `find offers one load after another, in random order, finds the load up to which
nearly every request is answered in time, and goes on to ten times that. A
built-in server then gets six spikes, one by one, and find says how long goodput
took to return, and whether the server is itself again when the spike is gone.
With --spikes a server at --url gets them, too.

With --closed the load comes from callers that wait for each answer before they
send again, ever more of them. What is seen so is labelled: it says how much gets
done at most, and nothing of what happens when callers do not wait.`,
		Example: `  knee find
  knee find --virtual --protect none
  knee find --url http://127.0.0.1:8080/ --timeout 200ms --max 2000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.seedSet = cmd.Flags().Changed("seed")
			return runFind(cmd.Context(), w, o, first(args))
		},
	}
	f := cmd.Flags()
	o.addLoad(f)
	f.BoolVar(&o.quick, "quick", false, "a coarse answer in half a minute")
	f.BoolVar(&o.closed, "closed", false, "sweep the number of callers that wait for each answer instead, with the Universal Scalability Law")
	f.BoolVar(&o.certify, "certify", false, "go on until the interval of the knee is certified")
	f.Var((*ratio)(&o.eps), "eps", "`SHARE` of the requests that a load may lose and still be good, up to 50% (default 5%)")
	f.Var((*ratio)(&o.bracket), "width", "`SHARE` of the load to which the interval of the knee is narrowed, up to 50% (default 5%)")
	o.spikes.add(f)
	f.Var((*given)(&o.max), "max", "highest `LOAD`: a multiple of the knee, or a rate that is never exceeded (default 10.2x)")
	f.Var((*positive)(&o.step), "step", "measured time of each load, in whole fifths of a second, in place of what the budget allows")
	return cmd
}

// runFind carries out find.
func runFind(ctx context.Context, w *world, o *runOptions, profile string) error {
	if o.closed {
		return runCallers(ctx, w, o, profile)
	}
	limit, multiple, err := o.ceiling()
	if err != nil {
		return err
	}
	if err := o.spikes.check(); err != nil {
		return err
	}
	if o.quick && o.certify {
		return fail(verdict.CodeUsage, "--quick with --certify: a certified answer takes as long as it takes; want one of them")
	}
	s, err := open(ctx, w, o, "find", profile, func(p *profiles.Profile) float64 {
		if limit > 0 {
			return limit
		}
		return 1.3 * multiple * p.Capacity()
	})
	if err != nil {
		return err
	}
	finder, err := newFinder(s, limit, multiple)
	if err != nil {
		return errors.Join(fail(verdict.CodeUsage, "%w", err), s.close())
	}
	return s.conclude(ctx, finder.run(ctx))
}

// ceiling returns what --max says: a rate that is never exceeded, or else how
// many times the knee the load goes to.
func (o *runOptions) ceiling() (limit, multiple float64, err error) {
	if o.max == "" {
		return 0, 10.2, nil
	}
	r, err := profiles.ParseRate(o.max)
	switch {
	case err != nil:
		return 0, 0, fail(verdict.CodeUsage, "--max %s: want a multiple of the knee such as 10x, or a rate such as 5000", o.max)
	case r.X && r.Value <= 1:
		return 0, 0, fail(verdict.CodeUsage, "--max %s: want more than 1x", o.max)
	case r.X:
		return 0, r.Value * 1.02, nil
	case r.Value <= 0:
		return 0, 0, fail(verdict.CodeUsage, "--max %s: want a rate above 0", o.max)
	}
	return r.Value, 10.2, nil
}

// A finder runs the trials that a search asks for, and then spikes.
type finder struct {
	*session
	search   *search.Search
	tried    []int // the run's numbers of the search's trials
	progress *progress
	budget   time.Duration
	limit    float64 // never exceeded; 0: none
	highest  float64 // of the loads that were tried
}

func newFinder(s *session, limit, multiple float64) (*finder, error) {
	if _, err := s.profile.Workload(); err != nil {
		return nil, err
	}
	budget := max(findBudget, findPatient*s.longest())
	switch {
	case s.verb == compareVerb && !s.o.quick:
		budget = max(rowBudget, rowPatient*s.longest())
	case s.o.quick && s.resettable():
		budget = quickBudget
	case s.o.quick:
		budget = quickSearch
	case s.o.certify:
		budget = 0 // the search's own
	}
	budget = time.Duration(float64(budget) * finer(s.o.eps, s.o.bracket))
	o := search.Options{
		Guess: s.capacity(), Max: limit, MaxX: multiple, Budget: budget,
		Timeout: s.longest(), Grace: s.profile.ClientOptions().Grace,
		Certify: s.o.certify, Eps: float64(s.o.eps), Width: float64(s.o.bracket), Resettable: s.resettable(), Seed: s.profile.Seed,
	}
	if budget == 0 {
		o.Budget = search.DefaultBudget(o)
	}
	se, err := search.New(o)
	if err != nil {
		return nil, err
	}
	s.meta.Eps, s.meta.Width = o.Eps, o.Width
	s.leaveOut()
	f := &finder{session: s, search: se, budget: o.Budget, limit: limit}
	f.progress = newProgress(s)
	return f, nil
}

// finer returns how many times as long a search takes for a share of losses, or an
// interval, that is smaller than usual: a share of 1% is seen in five times as many
// requests as one of 5%.
func finer(shares ...ratio) float64 {
	const usual = 0.05
	times := 1.0
	for _, s := range shares {
		if s > 0 {
			times = max(times, usual/float64(s))
		}
	}
	return times
}

// run runs the search and the spikes. What was measured stays in the session,
// however it ends.
func (f *finder) run(ctx context.Context) error {
	total := f.budget + f.spikesTake(f.capacity())
	if !f.o.virtual {
		about := "about"
		if f.o.certify {
			about = "at most" // most searches are sure in a third of it
		}
		f.progress.say("%s %v of load", about, total.Round(time.Second))
	}
	ctx, stop := f.progress.start(ctx, total)
	defer stop()
	err := f.searchAll(ctx)
	f.conclusions()
	if k, _ := f.search.Result(); err == nil && k.RPS > 0 {
		return f.spikes(ctx, k.RPS)
	}
	return err
}

// searchAll runs the trials that the search asks for.
func (f *finder) searchAll(ctx context.Context) error {
	for {
		t, more := f.search.Next()
		if !more {
			return nil
		}
		seen, err := f.try(ctx, t)
		if err != nil {
			return err
		}
		f.search.Observe(t, seen)
	}
}

// nearly is the share of --max that, offered, leaves nothing of the range.
const nearly = 0.95

// conclusions keeps what the search knows and the records do not.
func (f *finder) conclusions() {
	f.meta.Bracket[0], f.meta.Bracket[1] = f.search.Certified()
	f.meta.Ended = f.search.Why()
	for _, i := range f.search.SetAside() {
		f.meta.SetAside = append(f.meta.SetAside, f.tried[i])
	}
	f.meta.Warnings = append(f.meta.Warnings, f.search.Notes()...)
	k, _ := f.search.Result()
	f.meta.CutOff = f.limit == 0 || f.highest < nearly*f.limit
	if k.Verdict != knee.Found && f.search.Why() != "" {
		f.meta.Warnings = append(f.meta.Warnings, "the search ended because "+f.search.Why())
	}
}

// attempts is how often a load is offered until the generator was punctual. A
// machine that is busy with something else for a moment says nothing about the
// load; one that always is does.
const attempts = 3

// try runs one trial and says what came of it.
func (f *finder) try(ctx context.Context, t search.Trial) (search.Observation, error) {
	if f.o.step > 0 {
		t.Measure = f.o.step
	}
	began := f.driver.Now()
	f.highest = max(f.highest, t.Rate)
	f.progress.load(t.Stage, t.Rate)
	var step analysis.Step
	for n := range attempts {
		if n > 0 {
			f.meta.SetAside = append(f.meta.SetAside, f.tried[len(f.tried)-1])
			f.tried = f.tried[:len(f.tried)-1]
		}
		f.tried = append(f.tried, f.trials)
		var err error
		if step, err = f.attempt(ctx, t); err != nil {
			return search.Observation{}, err
		}
		if !step.Unpunctual() {
			break
		}
	}
	f.progress.point(step)
	p := analysis.Point(step)
	return search.Observation{
		Offered: p.Offered, Goodput: p.Goodput, Sent: p.Sent, Good: p.Good, P99: p.P99,
		Growing: p.Growing, Limited: p.Limited, Elapsed: f.driver.Now() - began,
	}, nil
}

// attempt offers the load of t once, and waits for a server that is not ours to
// drain.
func (f *finder) attempt(ctx context.Context, t search.Trial) (analysis.Step, error) {
	if err := f.reset(ctx); err != nil {
		return analysis.Step{}, err
	}
	steps, err := f.trial(ctx, []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: t.Rate, For: record.NextWindow(t.Settle)},
		{Kind: plan.Hold, Label: t.Stage, Rate: t.Rate, For: record.NextWindow(t.Measure)},
	})
	if err != nil {
		return analysis.Step{}, err
	}
	step := analysis.StepOf(steps[len(steps)-1], f.series, f.meta)
	if f.resettable() {
		return step, nil
	}
	return step, f.drain(ctx, step)
}

// A drained server answers probes as it should. These say how it is asked.
const (
	drainRate  = 10.0                   // probes per second
	drainRound = 400 * time.Millisecond // of probes, before they are looked at
	drainLimit = 15 * time.Second       // after which the next trial goes ahead regardless
)

// drain waits until a server that is not ours has worked off what a trial left
// behind: until a round of probes comes back in time and quickly. A trial that
// went well leaves nothing.
func (f *finder) drain(ctx context.Context, after analysis.Step) error {
	if c := after.Counts; float64(c.Good) >= 0.99*float64(c.Planned) && !after.Growing {
		return nil
	}
	deadline := f.driver.Now() + drainLimit
	for f.driver.Now() < deadline {
		steps, err := f.trial(ctx, []plan.Phase{{
			Kind: plan.Hold, Label: analysis.Drain, Rate: min(drainRate, max(after.IntendedRPS, 0.1)), For: drainRound,
		}})
		if err != nil {
			return err
		}
		probe := steps[len(steps)-1]
		if drained(probe, f.longest()) {
			return nil
		}
	}
	f.meta.Warnings = append(f.meta.Warnings, fmt.Sprintf("the server was still busy with its backlog %v after a trial at %.4g/s", drainLimit, after.IntendedRPS))
	return nil
}

// drained says whether every probe of a round came back, in half the timeout. Of
// a server that serves nothing it is enough that it says so at once.
func drained(probe *record.Step, timeout time.Duration) bool {
	t := probe.Total
	if t.Planned == 0 {
		return false
	}
	if t.Rejected+t.Failed == t.Planned {
		return true
	}
	return t.Good == t.Planned && probe.Response.Max <= timeout/2
}

// first returns the first argument, "" when there is none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
