package cli

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

// callersLoad is the rate of the plans that callers in a closed loop take their
// requests from, as a multiple of the capacity: more than they can ask for.
const callersLoad = 20

// How a closed loop is swept.
const (
	callersStep   = time.Second
	callersPasses = 2
	callersFlat   = 4   // times the concurrency at which goodput was highest, where the sweep ends
	callersLost   = 0.5 // share of the requests that are not good, likewise
)

// concurrency is how many callers there are, one step after another.
var concurrency = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024}

// checkClosed refuses what does not go with a closed loop.
func (o *runOptions) checkClosed() error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--certify", o.certify},
		{"--eps", o.eps > 0},
		{"--width", o.bracket > 0},
		{"--max", o.max != ""},
		{"--spikes", o.spikes.n.given},
		{"--base", o.spikes.base != ""},
		{"--stable-threshold", o.spikes.threshold},
	} {
		if f.given {
			return fail(verdict.CodeUsage, "%s with --closed: callers that wait for their answers offer no load of their own; want one of them", f.name)
		}
	}
	return nil
}

// runCallers carries out find --closed: goodput, latency and CPU of the server by the
// number of callers.
func runCallers(ctx context.Context, w *world, o *runOptions, profile string) error {
	if err := o.checkClosed(); err != nil {
		return err
	}
	s, err := open(ctx, w, o, "find", profile, func(p *profiles.Profile) float64 { return callersLoad * p.Capacity() })
	if err != nil {
		return err
	}
	if _, err := s.profile.Workload(); err != nil {
		return errors.Join(fail(verdict.CodeUsage, "%w", err), s.close())
	}
	if s.profile.Topology != nil {
		return errors.Join(fail(verdict.CodeUsage, "profile %s has a topology: want one server, of which the callers wait for answers", s.profile.Name), s.close())
	}
	s.asked = verdict.ChecksOnly
	if len(s.profile.Checks) > 0 {
		s.meta.Warnings = append(s.meta.Warnings, "a closed loop answers no question about offered load: the profile's checks were not judged")
		s.profile.Checks = nil
	}
	s.leaveOut()
	h := fnv.New64a()
	h.Write([]byte("callers"))
	c := &callers{session: s, random: rand.New(rand.NewPCG(s.profile.Seed, h.Sum64())), progress: newProgress(s)}
	return s.conclude(ctx, c.run(ctx))
}

// callers sweep the number of callers.
type callers struct {
	*session
	random   *rand.Rand
	progress *progress
}

// run goes up until more callers get no more done, and then over the same numbers again
// in another order.
func (c *callers) run(ctx context.Context) error {
	step := callersStep
	if c.o.step > 0 {
		step = c.o.step
	}
	step = record.NextWindow(step)
	total := time.Duration(callersPasses*len(concurrency)) * (step + c.patience())
	if !c.o.virtual {
		c.progress.say("at most %v of load, from callers that wait for each answer", total.Round(time.Second))
	}
	ctx, stop := c.progress.start(ctx, total)
	defer stop()
	var tried []int
	best, at := 0.0, 1
	for _, n := range concurrency {
		s, err := c.try(ctx, n, step)
		if err != nil {
			return err
		}
		tried = append(tried, n)
		if s.GoodputRPS > 1.02*best {
			best, at = s.GoodputRPS, n
		}
		if n >= callersFlat*at || float64(s.Counts.Good) < (1-callersLost)*float64(s.Counts.Sent) {
			break
		}
	}
	passes := callersPasses
	if c.o.quick {
		passes = 1
	}
	for range passes - 1 {
		for _, i := range c.random.Perm(len(tried)) {
			if _, err := c.try(ctx, tried[i], step); err != nil {
				return err
			}
		}
	}
	return nil
}

// try has n callers go on for a step.
func (c *callers) try(ctx context.Context, n int, step time.Duration) (analysis.Step, error) {
	c.progress.load(fmt.Sprintf("%d callers", n), 0)
	if err := c.reset(ctx); err != nil {
		return analysis.Step{}, err
	}
	spec, err := c.profile.Workload()
	if err != nil {
		return analysis.Step{}, fail(verdict.CodeUsage, "%w", err)
	}
	rate := float64(plan.MaxRate)
	if capacity := c.capacity(); capacity > 0 {
		rate = min(rate, callersLoad*capacity)
	}
	spec.Phases = []plan.Phase{{Kind: plan.Hold, Label: analysis.ClosedLoop, Rate: rate, For: step}}
	spec.Seed = trialSeed(c.profile.Seed, c.trials)
	p, err := plan.New(spec)
	if err != nil {
		return analysis.Step{}, fail(verdict.CodeUsage, "%w", err)
	}
	of := analysis.ClosedTrial{Trial: c.trials, Callers: n}
	before, known := c.serverCPU()
	began, first := c.driver.Now(), len(c.series.Steps())
	err = c.driver.RunClosed(ctx, c.trials, p, n)
	c.trials++
	if after, ok := c.serverCPU(); ok && known {
		share := (after - before).Seconds() / (c.driver.Now() - began).Seconds()
		of.CPUShare = &share
	}
	c.meta.Closed = append(c.meta.Closed, of)
	if err != nil {
		return analysis.Step{}, err
	}
	s := analysis.StepOf(c.series.Steps()[first], c.series, c.meta)
	c.progress.point(s)
	if c.resettable() {
		return s, nil
	}
	f := &finder{session: c.session, progress: c.progress}
	return s, f.drain(ctx, s)
}

// serverCPU returns the CPU that a server of ours has used; not known of others.
func (s *session) serverCPU() (used time.Duration, known bool) {
	if s.child == nil {
		return 0, false
	}
	return s.child.CPU()
}
