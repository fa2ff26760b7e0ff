package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/report"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

// compareVerb is the verb of the searches that compare makes.
const compareVerb = "compare"

// compareOptions are the flags of compare.
type compareOptions struct {
	runOptions
	chains []string
	orders []string
	all    bool
	live   bool
}

func newCompareCmd(w *world) *cobra.Command {
	o := &compareOptions{}
	cmd := &cobra.Command{
		Use:   "compare PROFILE | DIR DIR…",
		Short: "a scoreboard, one row for each chain of protections; or what finished runs differ in",
		Long: `compare runs one profile with each chain of protections, and with each order of
the queue if several are given, and prints a row for each: goodput before, in and
after the spike of the profile, the knee, what is left at ten times the knee, and
at what price. A profile without a spike gets one, of three times its capacity.

Runs are in virtual time, unless --live asks for sockets and the wall clock.

With the folders of finished runs (--out) it says what was set otherwise in them,
and how each answer differs from the first run's: higher or lower where the
intervals have nothing in common, and no difference seen where they overlap.`,
		Example: `  knee compare overload-lesson --all
  knee compare default --protect none --protect queue_bound:wait=50ms+deadline
  knee compare default --protect deadline --order fifo --order adaptive_lifo
  knee compare run1 run2`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.seedSet = cmd.Flags().Changed("seed")
			return runCompare(cmd.Context(), w, o, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.chains, "protect", nil, "a row for this `CHAIN` of NAME[:knob=value,...] joined by +; none for none; repeatable")
	f.StringArrayVar(&o.orders, "order", nil, "order of the queue, `NAME[:knob=value,...]`; repeatable: each chain with each")
	f.BoolVar(&o.all, "all", false, "a row for every protection and every order that knee has")
	f.BoolVar(&o.live, "live", false, "over sockets and on the wall clock, one row after another")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything random, in place of the profile's")
	f.StringArrayVar(&o.set, "set", nil, "override one field of the profile: `PATH=VALUE`, repeatable")
	f.Var((*positive)(&o.timeout), "timeout", "timeout of an attempt, in place of the profile's")
	f.BoolVar(&o.quick, "quick", false, "coarse answers, in half a minute for each row on the wall clock")
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
	o.addOutput(f)
	return cmd
}

// runCompare carries out compare.
func runCompare(ctx context.Context, w *world, o *compareOptions, args []string) error {
	if len(args) > 1 || isRun(args[0]) {
		return compareRuns(w, o, args)
	}
	if err := o.check(); err != nil {
		return err
	}
	o.virtual = !o.live
	profile := args[0]
	stdin, err := readStdin(w, profile)
	if err != nil {
		return err
	}
	c := &comparison{w: w, o: o, profile: profile, stdin: stdin}
	if err := c.prepare(); err != nil {
		return err
	}
	board, ended := c.run(ctx)
	if len(board.Rows) == 0 && ended != nil {
		return ended
	}
	if o.format == "json" {
		err = report.ScoreboardJSON(w.stdout, board)
	} else {
		err = report.Scoreboard(w.stdout, board, report.Options{Width: w.width(), Color: w.inColour(o.color)})
	}
	if err != nil {
		return fail(verdict.CodeInternal, "%w", err)
	}
	if stopped := (*interrupt)(nil); errors.As(ended, &stopped) {
		return exit(stopped.code())
	}
	return ended
}

// check refuses flags and arguments that are not allowed.
func (o *compareOptions) check() error {
	switch {
	case o.all && len(o.chains)+len(o.orders) > 0:
		return fail(verdict.CodeUsage, "--all with --protect or --order: --all has a row for each already; want one of them")
	case !o.all && len(o.chains)+len(o.orders) == 0:
		return fail(verdict.CodeUsage, "compare without --protect, --order or --all: want a row for each chain, such as --protect none --protect deadline")
	case slices.Contains(o.chains, ""):
		return fail(verdict.CodeUsage, "--protect is empty: want a CHAIN, or none for none")
	case slices.Contains(o.orders, ""):
		return fail(verdict.CodeUsage, "--order is empty: want NAME[:knob=value,...]")
	}
	return o.runOptions.check()
}

// readStdin reads a profile from stdin, so that every row can have it.
func readStdin(w *world, profile string) ([]byte, error) {
	if profile != "-" || w.stdin == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(w.stdin, profiles.MaxSize+1))
	if err != nil {
		return nil, fail(verdict.CodeUsage, "<stdin>: %w", err)
	}
	return data, nil
}

// A comparison runs one profile once for each row.
type comparison struct {
	w       *world
	o       *compareOptions
	profile string
	stdin   []byte
	rows    []boardRow
	base    *session // of the profile with its own chain; it offers no load
}

// boardRow is what one row changes in the profile.
type boardRow struct {
	protect string // "" leaves the profile's own
	order   string // "" leaves the profile's own
}

// prepare loads the profile for each row, so that whatever is wrong with any is
// said before anything runs.
func (c *comparison) prepare() error {
	own := c.o.runOptions
	p, err := loadProfile(c.reading(), &own, c.profile)
	if err != nil {
		return err
	}
	if p.Target == nil {
		return fail(verdict.CodeUsage, "compare %s: the profile has no target whose protections could be changed: want one with a target", c.profile)
	}
	c.rows = c.o.rows(p)
	for _, r := range c.rows {
		o := c.options(r)
		if _, err := loadProfile(c.reading(), o, c.profile); err != nil {
			return err
		}
	}
	c.base = &session{w: c.w, o: &own, verb: compareVerb, profile: p}
	c.base.describe()
	return nil
}

// rows returns what is compared under p.
func (o *compareOptions) rows(p *profiles.Profile) []boardRow {
	if o.all {
		return everyRow(p, o.live)
	}
	chains, orders := o.chains, o.orders
	if len(chains) == 0 {
		chains = []string{""}
	}
	if len(orders) == 0 {
		orders = []string{""}
	}
	var rows []boardRow
	for _, chain := range chains {
		for _, order := range orders {
			rows = append(rows, boardRow{protect: chain, order: order})
		}
	}
	return rows
}

// reading returns the world with the profile on its stdin.
func (c *comparison) reading() *world {
	w := *c.w
	if c.stdin != nil {
		w.stdin = bytes.NewReader(c.stdin)
	}
	return &w
}

// options returns the flags of the run of a row.
func (c *comparison) options(r boardRow) *runOptions {
	o := c.o.runOptions
	o.protect, o.order, o.quiet = r.protect, r.order, true
	return &o
}

// run measures the rows: in virtual time as many at once as there are
// processors, over sockets one after another. When it is stopped, or a row
// fails, the scoreboard has the rows that were measured until then.
func (c *comparison) run(ctx context.Context) (*analysis.Scoreboard, error) {
	began := c.w.now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := 1
	if c.o.virtual {
		workers = runtime.GOMAXPROCS(0)
	}
	measured := make([]measuredRow, len(c.rows))
	next := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range next {
				row, err := c.measure(ctx, c.rows[i])
				if err != nil {
					cancel(fmt.Errorf("row %s: %w", c.rows[i], err))
					continue
				}
				measured[i] = row
			}
		})
	}
	for i, r := range c.rows {
		if !c.o.virtual && !c.o.quiet {
			fmt.Fprintf(c.w.stderr, "knee: row %d of %d: %s\n", i+1, len(c.rows), r)
		}
		select {
		case next <- i:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(next)
	group.Wait()
	return c.board(measured, c.w.now().Sub(began)), context.Cause(ctx)
}

func (r boardRow) String() string {
	switch {
	case r.order == "":
		return r.protect
	case r.protect == "":
		return "order " + r.order
	}
	return r.protect + ", order " + r.order
}

// board puts the rows together.
func (c *comparison) board(rows []measuredRow, took time.Duration) *analysis.Scoreboard {
	m := c.base.meta
	m.Run.DurationS = took.Seconds()
	b := &analysis.Scoreboard{
		Schema:   analysis.ScoreboardSchema,
		Run:      m.Run,
		Machine:  m.Machine,
		Profile:  m.Profile,
		Capacity: analysis.Capacity{RPS: &m.CapacityRPS, Source: "declared"},
		Rows:     []analysis.Row{},
		Warnings: []string{},
	}
	if c.o.virtual {
		b.Run.DurationS = 0
	}
	unmeasured := false
	if t := c.base.profile.Topology; t != nil && len(t.Layers) > 0 {
		b.Warnings = append(b.Warnings, "the rows change the servers in front; the layers behind them keep their own protections")
	}
	for _, r := range rows {
		if r.Verdict == "" {
			unmeasured = true
			continue
		}
		b.Story = r.story
		b.Rows = append(b.Rows, r.Row)
		if c.o.virtual {
			b.Run.DurationS += r.virtual.Seconds()
		}
	}
	if unmeasured {
		b.Warnings = append(b.Warnings, "stopped before all rows were measured")
	}
	return b
}

// A measuredRow is a row of the scoreboard, and how it came about.
type measuredRow struct {
	analysis.Row
	story   analysis.Story
	virtual time.Duration // that it took on the run's clock
}

// measure runs the story and then a search for the knee.
func (c *comparison) measure(ctx context.Context, r boardRow) (measuredRow, error) {
	out := measuredRow{Row: analysis.Row{Protect: r.protect, Order: r.order}}
	if err := c.tell(ctx, r, &out); err != nil {
		return out, err
	}
	if why := c.unsearchable(); why != "" {
		out.Unjudged(why)
		return out, nil
	}
	s, err := open(ctx, c.reading(), c.options(r), compareVerb, c.profile, func(p *profiles.Profile) float64 { return 13 * p.Capacity() })
	if err != nil {
		return out, err
	}
	finder, err := newFinder(s, 0, 10.2)
	if err != nil {
		return out, errors.Join(fail(verdict.CodeUsage, "%w", err), s.close())
	}
	ran := finder.searchAll(ctx)
	finder.conclusions()
	out.virtual += s.driver.Now()
	found, err := s.finish()
	if err := errors.Join(ran, err); err != nil {
		return out, err
	}
	out.Judge(found)
	return out, nil
}

// unsearchable says why no search for a knee can be made of the profile's load;
// "" when one can.
func (c *comparison) unsearchable() string {
	if _, err := c.base.profile.Workload(); err != nil {
		return "no search for the knee: " + err.Error()
	}
	return ""
}

// tell runs the story and fills in what became of it.
func (c *comparison) tell(ctx context.Context, r boardRow, out *measuredRow) error {
	s, err := open(ctx, c.reading(), c.options(r), "run", c.profile, peakOf)
	if err != nil {
		return err
	}
	story, of, err := s.story()
	if err != nil {
		return errors.Join(err, s.close())
	}
	if out.Protect == "" {
		out.Protect = s.profile.Chain()
	}
	if out.Order == "" {
		out.Order = s.profile.Target.Order.String()
	}
	stop := s.listen(ctx)
	_, err = s.offer(ctx, story)
	stop()
	out.virtual = s.driver.Now()
	inside := s.inside()
	result, ferr := s.finish()
	if err := errors.Join(err, ferr); err != nil {
		return err
	}
	told, ok := analysis.StoryOf(s.series)
	if !ok {
		return fail(verdict.CodeInternal, "the records of the story have no spike")
	}
	out.story = told.Story(of)
	told.Fill(&out.Row, inside)
	out.Recovery = result.Recovery
	return nil
}

// inside returns what a built-in server counted so far; nil when it cannot be
// asked.
func (s *session) inside() *analysis.Inside {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counted, err := s.counts(ctx)
	if err != nil {
		return nil
	}
	return &analysis.Inside{Served: counted.Served, Peak: counted.Peak}
}

// story returns the plan by which rows are compared, and whose it is: the
// stretch of the profile's phases that has a spike, or else that of find.
func (s *session) story() (p *plan.Plan, of string, err error) {
	trials, err := s.plans()
	if err != nil {
		return nil, "", err
	}
	for _, t := range trials {
		steps := t.plan.Steps()
		if i := slices.IndexFunc(steps, func(s plan.Step) bool { return s.Label == analysis.Spike }); i > 0 {
			return t.plan, "profile", nil
		}
	}
	spec, err := s.profile.Workload()
	if err != nil {
		return nil, "", fail(verdict.CodeUsage, "%w", err)
	}
	spec.Phases = s.spikePhases(s.capacity(), spikeX*s.capacity())
	spec.Seed = trialSeed(s.profile.Seed, 0)
	if p, err = plan.New(spec); err != nil {
		return nil, "", fail(verdict.CodeUsage, "%w", err)
	}
	return p, "find", nil
}

// storyAfter is how long the load goes on after the spike, at least.
const storyAfter = 10 * time.Second

// spikePhases are seven tenths of a load, a spike, and seven tenths again.
func (s *session) spikePhases(load, spike float64) []plan.Phase {
	return []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: baseX * load, For: settleFor},
		{Kind: plan.Hold, Label: analysis.Base, Rate: baseX * load, For: baseFor},
		{Kind: plan.Spike, Label: analysis.Spike, Rate: spike, For: spikeFor},
		{Kind: plan.Hold, Label: analysis.After, Rate: baseX * load, For: record.NextWindow(max(storyAfter, 10*s.longest()))},
	}
}
