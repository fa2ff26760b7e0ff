package cli

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/host"
	"knee/generator/plan"
	"knee/generator/record"
)

// How rejections are priced.
const (
	costBlocks  = 5 // passes over the loads
	quickBlocks = 3
	costSettle  = 200 * time.Millisecond
	costStep    = 800 * time.Millisecond
	costRest    = 400 * time.Millisecond // after a load, until a server has done what it owes
	costSearch  = 20 * time.Second       // for the capacity of a server at --url
)

// costLoads are the loads of a pass, as multiples of the capacity: what is below it
// tells what a success costs, what is beyond it what a rejection does.
var costLoads = []float64{0.4, 0.8, 1.2, 1.5, 2, 3, 5, 7, 10}

// mostPriced is the highest load that is offered to see whether the price is right.
const mostPriced = 30_000

// A coster runs the trials that price rejections.
type coster struct {
	*session
	stages   []string
	capacity float64
	limit    float64 // never exceeded; 0: none
	multiple float64 // of the capacity that is not exceeded
	blocks   int
	random   *rand.Rand
	progress *progress
}

func newCoster(s *session, limit, multiple float64) (*coster, error) {
	if s.profile.Topology != nil {
		return nil, fail(verdict.CodeUsage, "profile %s has a topology: want one server, whose rejections are to be priced", s.profile.Name)
	}
	if _, err := s.profile.Workload(); err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	h := fnv.New64a()
	h.Write([]byte("cost"))
	c := &coster{
		session: s, capacity: s.capacity(), limit: limit, multiple: multiple,
		blocks: costBlocks, random: rand.New(rand.NewPCG(s.profile.Seed, h.Sum64())), progress: newProgress(s),
	}
	if s.o.quick {
		c.blocks = quickBlocks
	}
	var left []string
	var err error
	if c.stages, left, err = s.costStages(); err != nil {
		return nil, err
	}
	s.meta.Warnings = append(s.meta.Warnings, left...)
	if !s.o.remote() {
		s.meta.Stage = s.profile.Target.ShedAt
		if len(s.o.cost.stages) > 0 {
			s.meta.Stage = c.stages[0]
		}
	}
	s.meta.SharedCPUs = !s.o.virtual && (s.placed.bound == nil) && (!s.o.remote() || s.o.cost.pid != 0 || s.o.cost.cgroup != "")
	s.leaveOut()
	return c, nil
}

// run runs all trials. What was measured stays in the session, however it ends.
func (c *coster) run(ctx context.Context) error {
	step := costStep
	if c.o.step > 0 {
		step = c.o.step
	}
	each := costSettle + record.NextWindow(step) + costRest
	total := time.Duration(c.blocks*len(c.stages)*len(costLoads)) * each
	if c.child != nil {
		total += time.Duration(len(c.stages)) * (2*profileRun + each) // what comes after the passes
	}
	if !c.o.virtual {
		c.progress.say("about %v of load", total.Round(time.Second))
	}
	ctx, stop := c.progress.start(ctx, total)
	defer stop()
	if c.capacity == 0 {
		if err := c.find(ctx); err != nil {
			return err
		}
	}
	for block := range c.blocks {
		for _, stage := range c.shuffled(c.stages) {
			if err := c.fresh(ctx, stage); err != nil {
				return err
			}
			for _, x := range shuffledLoads(c.random, costLoads) {
				if rate := x * c.capacity; x <= c.multiple && (c.limit == 0 || rate <= c.limit) {
					if err := c.try(ctx, block, stage, rate, record.NextWindow(step)); err != nil {
						return err
					}
				}
			}
		}
	}
	for _, stage := range c.stages {
		if err := c.look(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// find finds the capacity of a server that is not ours: its knee.
func (c *coster) find(ctx context.Context) error {
	const past = 1.5 // times the knee: what is beyond it comes later
	f, err := newFinder(c.session, c.limit, past)
	if err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	f.progress = c.progress
	if err := f.searchAll(ctx); err != nil {
		return err
	}
	k, _ := f.search.Result()
	if k.RPS <= 0 {
		return fail(verdict.CodeInconclusive, "the capacity of the server was not found (%s): with --capacity RATE it need not be", k.Verdict)
	}
	c.capacity = k.RPS
	return nil
}

// shuffled returns stages in another order.
func (c *coster) shuffled(stages []string) []string {
	all := make([]string, len(stages))
	for to, from := range c.random.Perm(len(stages)) {
		all[to] = stages[from]
	}
	return all
}

func shuffledLoads(random *rand.Rand, loads []float64) []float64 {
	all := make([]float64, len(loads))
	for to, from := range random.Perm(len(loads)) {
		all[to] = loads[from]
	}
	return all
}

// fresh starts a server of ours anew and has it do a little of everything, so that
// what only the first requests cost is not booked to any.
func (c *coster) fresh(ctx context.Context, stage string) error {
	if c.child == nil {
		return c.reset(ctx)
	}
	p := *c.profile
	p.Target.ShedAt = stage
	if err := c.renew(ctx, &p); err != nil {
		return err
	}
	_, err := c.trial(ctx, []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: 2 * c.capacity, For: costSettle},
		{Kind: plan.Hold, Label: analysis.Drain, For: costRest},
	})
	return err
}

// try offers one load, from rest to rest, and keeps what the server used for it.
func (c *coster) try(ctx context.Context, block int, stage string, rate float64, measure time.Duration) error {
	c.progress.load(stage, rate)
	before, err := c.used(ctx)
	if err != nil {
		return err
	}
	trial := c.trials
	steps, err := c.trial(ctx, []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: rate, For: costSettle},
		{Kind: plan.Hold, Label: "price", Rate: rate, For: measure},
		{Kind: plan.Hold, Label: analysis.Drain, For: costRest},
	})
	if err != nil {
		return err
	}
	after, err := c.used(ctx)
	if err != nil {
		return err
	}
	c.progress.point(analysis.StepOf(steps[1], c.series, c.meta))
	u := analysis.ServerUse{
		Trial: trial, Stage: stage, Block: block, WallS: (after.at - before.at).Seconds(),
		CPUS: (after.cpu - before.cpu).Seconds(), WorkersS: (after.workers - before.workers).Seconds(),
	}
	if c.watched() {
		c.meta.ServerUse = append(c.meta.ServerUse, u)
	}
	if c.folder != nil {
		c.saveMeta()
	}
	return nil
}

// A usage is what the server has used so far.
type usage struct {
	at           time.Duration
	cpu, workers time.Duration
}

// watched reports whether what the server uses is known.
func (c *coster) watched() bool {
	return !c.o.remote() || c.o.cost.pid != 0 || c.o.cost.cgroup != ""
}

// used returns what the server has used so far.
func (c *coster) used(ctx context.Context) (u usage, err error) {
	u.at = c.driver.Now()
	switch {
	case c.o.virtual:
		n, _ := c.counts(ctx)
		u.workers = n.Worked
	case c.child != nil:
		if !c.profile.Target.Service.CPU {
			n, err := c.child.Counts(ctx)
			if err != nil {
				return u, fail(verdict.CodeNotStarted, "%w", err)
			}
			u.workers = n.Worked
		}
		u.cpu, _ = c.child.CPU()
	case c.o.cost.pid != 0:
		u.cpu, err = host.ProcessCPU(c.o.cost.pid)
	case c.o.cost.cgroup != "":
		u.cpu, err = host.GroupCPU(c.o.cost.cgroup)
	}
	if err != nil {
		return u, fail(verdict.CodeNotStarted, "the server's CPU: %w", err)
	}
	return u, nil
}

// look takes CPU profiles of a server of ours, and offers the load at which
// rejections alone are to fill it.
func (c *coster) look(ctx context.Context, stage string) error {
	price := analysis.Price(c.series, c.meta, stage)
	if price.CollapseRPS == nil {
		return nil
	}
	collapse := *price.CollapseRPS
	most := float64(mostPriced)
	if c.limit > 0 {
		most = min(most, c.limit)
	}
	if c.child != nil {
		if err := c.fresh(ctx, stage); err != nil {
			return err
		}
		if err := c.profiles(ctx, stage, min(max(1.5*c.capacity, collapse/2), most/2)); err != nil {
			return err
		}
	}
	if c.o.remote() && c.limit == 0 {
		most = min(most, c.multiple*c.capacity) // what nobody asked for is not sent
	}
	if collapse > most || collapse < c.capacity {
		return nil
	}
	c.progress.load("price", collapse)
	c.meta.Prices = append(c.meta.Prices, analysis.PriceTrial{Trial: c.trials, Stage: stage})
	_, err := c.trial(ctx, []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: collapse, For: 2 * costSettle},
		{Kind: plan.Hold, Label: analysis.Priced, Rate: collapse, For: record.NextWindow(costStep)},
		{Kind: plan.Hold, Label: analysis.Drain, For: costRest},
	})
	return err
}

// How CPU profiles are taken.
const (
	profileSeconds = 2
	profileRun     = costSettle + profileSeconds*time.Second + 2*record.Window + costRest
)

// profiles takes a CPU profile of the server while it serves, and one while it
// rejects at the given load.
func (c *coster) profiles(ctx context.Context, stage string, rejecting float64) error {
	serving, err := c.profiled(ctx, stage, "serving", 0.8*c.capacity)
	if err != nil {
		return err
	}
	refusing, err := c.profiled(ctx, stage, "rejecting", rejecting)
	if err != nil {
		return err
	}
	hot, err := hottest(serving, refusing)
	if err != nil {
		c.meta.Warnings = append(c.meta.Warnings, fmt.Sprintf("CPU profiles of stage %s: %v", stage, err))
		return nil
	}
	if c.meta.Hot == nil {
		c.meta.Hot = map[string][]analysis.Hot{}
	}
	c.meta.Hot[stage] = hot
	return nil
}

// profiled takes a CPU profile at one load and keeps it.
func (c *coster) profiled(ctx context.Context, stage, doing string, rate float64) (profiled, error) {
	c.progress.load(doing, rate)
	type taken struct {
		data []byte
		err  error
	}
	ready := make(chan taken, 1)
	go func() {
		data, err := c.child.Profile(ctx, profileSeconds)
		ready <- taken{data, err}
	}()
	steps, err := c.trial(ctx, []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: rate, For: profileRun - costRest},
		{Kind: plan.Hold, Label: analysis.Drain, For: costRest},
	})
	got := <-ready
	if err = errors.Join(err, got.err); err != nil {
		return profiled{}, err
	}
	s := steps[0]
	seconds := s.Info.Duration.Seconds()
	if c.folder != nil {
		name := filepath.Join(c.folder.Dir(), stage+"-"+doing+".pprof")
		if err := os.WriteFile(name, got.data, 0o644); err != nil {
			return profiled{}, fail(verdict.CodeInternal, "%w", err)
		}
	}
	return profiled{data: got.data, good: float64(s.Total.Good) / seconds, rejected: float64(s.Total.Rejected) / seconds}, nil
}
