package cli

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"knee/analysis"
	"knee/analysis/paired"
	"knee/ci/verdict"
	"knee/generator/host"
	"knee/generator/plan"
	"knee/generator/record"
)

// probeLoads are the loads at which builds are compared, as multiples of the
// baseline's knee.
var probeLoads = []float64{0.95, 2, 5, 10}

const (
	pairFor   = time.Second           // of a load, when --step does not say
	lookFor   = 50 * time.Millisecond // of each look at the machine …
	looks     = 4                     // … of which the second best counts
	cpuSteady = 0.10
	netSteady = 0.25 // trips over loopback differ by as much on a machine that is at rest
)

// builds are the two servers that are compared. One of them runs at a time.
type builds interface {
	// turn has a build take the place of the one before, as a process that was just
	// started.
	turn(ctx context.Context, candidate bool) error
	names() (baseline, candidate string)
	close() error
}

// A pairer compares two builds.
type pairer struct {
	*finder
	builds builds
	random *rand.Rand
	canary *paired.Canary
	rates  []float64
	spike  shape
	off    string // what was wrong with the machine when it was last looked at
}

// begin says which loads there will be.
func (p *pairer) begin(s *session) error {
	limit, _, err := s.o.ceiling()
	if err != nil {
		return err
	}
	if s.o.max == "" {
		limit = 0
	}
	if s.profile.Topology != nil {
		return fail(verdict.CodeUsage, "profile %s has a topology: want one server of which builds are compared", s.profile.Name)
	}
	if p.builds == nil {
		if p.builds, err = newOwnBuilds(s); err != nil {
			return err
		}
	}
	if c, ok := p.builds.(*commands); ok {
		c.turned = s.live.Turn
	}
	const beyond = 1.5 // of the knee, where it has to be found
	if p.finder, err = newFinder(s, limit, beyond); err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	h := fnv.New64a()
	h.Write([]byte("pair"))
	p.random = rand.New(rand.NewPCG(s.profile.Seed, h.Sum64()))
	p.canary = paired.NewCanary(paired.Speed{Name: "the speed of a CPU", Steady: cpuSteady}, paired.Speed{Name: "the speed of loopback connections", Steady: netSteady})
	knee := s.capacity()
	if b := s.o.gate.before; b != nil && b.Knee.RPS != nil && s.o.capacity == "" {
		knee = *b.Knee.RPS
	}
	base, candidate := p.builds.names()
	s.meta.Pair = &analysis.Pair{Baseline: base, Candidate: candidate, Most: s.o.pair.blocks.of, KneeRPS: knee, Voids: map[int]string{}}
	return nil
}

// close ends the builds.
func (p *pairer) close() error {
	if p.builds == nil {
		return nil
	}
	return p.builds.close()
}

// run runs one block after another until the gate is sure. What was measured stays in
// the session, however it ends.
func (p *pairer) run(ctx context.Context) error {
	pair := p.meta.Pair
	if pair.KneeRPS == 0 {
		if err := p.find(ctx); err != nil {
			return err
		}
	}
	for _, x := range probeLoads {
		if rate := x * pair.KneeRPS; p.limit == 0 || rate <= p.limit {
			p.rates = append(p.rates, rate)
		}
	}
	if len(p.rates) < 2 {
		return fail(verdict.CodeUsage, "--max %s: want at least twice the knee of %.4g/s, or builds are compared below it alone", p.o.max, pair.KneeRPS)
	}
	p.spike = p.shape(pair.KneeRPS, baseX*pair.KneeRPS, p.limit)
	p.spike.before, p.spike.spike = quickFor, min(p.spike.spike, max(quickFor, record.NextWindow(p.longest())))
	pair.PerBuild = len(p.rates) + 1
	each := 2 * (time.Duration(len(p.rates))*(p.settle()+p.measured()) + p.spike.total())
	if !p.o.virtual {
		p.progress.say("at most %d blocks of about %v of load; %d when all say the same", pair.Most, each.Round(time.Second), leastBlocks/2)
	}
	ctx, stop := p.progress.start(ctx, time.Duration(pair.Most)*each)
	defer stop()
	if err := p.look(); err != nil {
		return err
	}
	for block := 0; ; block++ {
		if err := p.block(ctx, block); err != nil {
			return err
		}
		if p.folder != nil {
			p.saveMeta()
		}
		if analysis.Paired(p.series, p.meta).Done() {
			return nil
		}
	}
}

// find finds the knee of the baseline, which runs.
func (p *pairer) find(ctx context.Context) error {
	p.progress.say("looking for the knee of the baseline: with --capacity RATE it need not be found")
	ctx, stop := p.progress.start(ctx, p.budget)
	defer stop()
	if err := p.searchAll(ctx); err != nil {
		return err
	}
	k, _ := p.search.Result()
	if k.RPS <= 0 {
		return fail(verdict.CodeInconclusive, "the knee of the baseline was not found (%s): with --capacity RATE it need not be", k.Verdict)
	}
	p.meta.Pair.KneeRPS = k.RPS
	return nil
}

// measured is how long each load is measured.
func (p *pairer) measured() time.Duration {
	if p.o.step > 0 {
		return record.NextWindow(p.o.step)
	}
	return max(pairFor, record.NextWindow(p.longest()))
}

// block runs both builds, in an order that a coin decides, under the same loads in the
// same order with the same arrivals.
func (p *pairer) block(ctx context.Context, block int) error {
	candidateFirst := p.random.IntN(2) == 1
	order := p.random.Perm(len(p.rates))
	before := p.off
	for _, candidate := range []bool{candidateFirst, !candidateFirst} {
		if err := p.builds.turn(ctx, candidate); err != nil {
			return err
		}
		for _, i := range order {
			if err := p.probe(ctx, block, candidate, i); err != nil {
				return err
			}
		}
		if err := p.burst(ctx, block, candidate); err != nil {
			return err
		}
	}
	if err := p.look(); err != nil {
		return err
	}
	if before != "" {
		p.meta.Pair.Voids[block] = before
	} else if p.off != "" {
		p.meta.Pair.Voids[block] = p.off
	}
	return nil
}

// count books the next trial to a build.
func (p *pairer) count(block int, candidate bool) {
	p.meta.Pair.Trials = append(p.meta.Pair.Trials, analysis.PairTrial{Trial: p.trials, Block: block, Candidate: candidate})
}

// say says which build gets which load.
func (p *pairer) say(block int, candidate bool, rate float64) {
	which := "baseline"
	if candidate {
		which = "candidate"
	}
	p.progress.load(fmt.Sprintf("block %d, %s", block+1, which), rate)
}

// probe offers load i.
func (p *pairer) probe(ctx context.Context, block int, candidate bool, i int) error {
	rate := p.rates[i]
	p.say(block, candidate, rate)
	if err := p.reset(ctx); err != nil {
		return err
	}
	p.count(block, candidate)
	steps, err := p.seeded(ctx, block*len(probeLoads)+i, []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: rate, For: p.settle()},
		{Kind: plan.Hold, Label: analysis.Probe, Rate: rate, For: p.measured()},
	})
	if err != nil {
		return err
	}
	return p.rest(ctx, analysis.StepOf(steps[len(steps)-1], p.series, p.meta))
}

// burst offers a spike.
func (p *pairer) burst(ctx context.Context, block int, candidate bool) error {
	p.say(block, candidate, p.spike.peak)
	if err := p.reset(ctx); err != nil {
		return err
	}
	p.count(block, candidate)
	steps, err := p.seeded(ctx, -1-block, []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: p.spike.base, For: p.spike.settle},
		{Kind: plan.Hold, Label: analysis.Base, Rate: p.spike.base, For: p.spike.before},
		{Kind: plan.Spike, Label: analysis.Spike, Rate: p.spike.peak, For: p.spike.spike},
		{Kind: plan.Hold, Label: analysis.After, Rate: p.spike.base, For: p.spike.after},
	})
	if err != nil {
		return err
	}
	return p.rest(ctx, analysis.StepOf(steps[len(steps)-1], p.series, p.meta))
}

// rest waits for a server that cannot be put back to its start.
func (p *pairer) rest(ctx context.Context, after analysis.Step) error {
	if p.resettable() {
		return nil
	}
	return p.drain(ctx, after)
}

// look looks at what the machine can do now, several times at first. In virtual time
// it can do anything.
func (p *pairer) look() error {
	if p.o.virtual {
		return nil
	}
	times := 1
	if p.meta.Pair.Trials == nil {
		times = 4
	}
	for range times {
		speeds, err := p.speeds()
		if err != nil {
			return err
		}
		p.off = p.canary.Read(speeds)
	}
	return nil
}

// speeds returns what the machine can do now. The best but one of several looks is what
// it can do but for what comes and goes in less time than a load takes.
func (p *pairer) speeds() ([]float64, error) {
	var cpus, loopbacks []float64
	for range looks {
		cpu, loopback, err := host.Speeds(int(max(1, p.meta.CPUs)), lookFor)
		if err != nil {
			return nil, fail(verdict.CodeNotStarted, "%w", err)
		}
		cpus, loopbacks = append(cpus, cpu), append(loopbacks, loopback)
	}
	slices.Sort(cpus)
	slices.Sort(loopbacks)
	return []float64{cpus[looks-2], loopbacks[looks-2]}, nil
}
