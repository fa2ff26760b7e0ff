package cli

import (
	"context"
	"math"
	"strings"
	"time"

	"knee/analysis"
	"knee/generator/live"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

// probeProfile is the client of the probes. It waits no longer than it takes to
// know that a load is too much.
const probeProfile = `
name: doctor
client: {timeout: 300ms, grace: 100ms}
load: {arrivals: poisson, phases: [{kind: hold, rate: 1000, for: 1s}]}
`

// How loads are tried against a server that does nothing.
const (
	probeSettle = 200 * time.Millisecond // of a load, before it is measured
	probeFor    = 200 * time.Millisecond // a load that is 5% too much is 20 ms late by then
	lagFor      = 400 * time.Millisecond // of a load whose lag is told
	probeConns  = 64                     // connections that are there from the start, and callers of the closed loop
	// probeLag is the timeout whose tenth the lag p99 must keep below: that of the
	// built-in profiles.
	probeLag = 100 * time.Millisecond
	// answered is the share of a load that must be answered.
	answered = 0.98
)

// A prober offers loads to a server that does nothing, as runs do.
type prober struct {
	profile *profiles.Profile
	driver  *live.Driver
	series  *record.Series
	meta    analysis.Meta
	seed    uint64
}

// newProber returns a prober of the server at addr, HOST:PORT.
func newProber(ctx context.Context, addr string, engine live.Engine, machine analysis.Machine, cpus float64) (*prober, error) {
	target, err := live.ParseTarget("http://" + addr + "/")
	if err != nil {
		return nil, err
	}
	p, err := profiles.Load("-", profiles.Overrides{URL: true, Stdin: strings.NewReader(probeProfile)})
	if err != nil {
		return nil, err
	}
	b := &prober{
		profile: p,
		series:  record.NewSeries(classNames(p)),
		meta:    analysis.Meta{Run: analysis.Run{Clock: analysis.Wall}, Machine: machine, Timeout: probeLag, CPUs: cpus},
	}
	population := p.ClientOptions()
	population.MaxInFlight = live.AutoInFlight(plan.MaxRate, longestTimeout(p), population.Grace, 0).N
	b.driver, err = live.New(live.Options{
		Target: target, Client: population, Engine: engine,
		Recorder: record.NewRecorder(record.RecorderOptions{
			Classes: classNames(p), MaxLatency: 2 * time.Second,
			Sink: func(d *record.Delta) { b.series.Add(d); d.Release() },
		}),
		Observe: func(r record.Reading) { b.meta.Readings = append(b.meta.Readings, r) },
	})
	if err != nil {
		return nil, err
	}
	return b, b.driver.Warm(ctx, probeConns)
}

// plan returns phases as a plan.
func (b *prober) plan(phases ...plan.Phase) (*plan.Plan, error) {
	spec, err := b.profile.Workload()
	if err != nil {
		return nil, err
	}
	b.seed++
	spec.Seed, spec.Phases = b.seed, phases
	return plan.New(spec)
}

// offer offers loads in the open, one after another and each for so long, and
// says what came of each.
func (b *prober) offer(ctx context.Context, span time.Duration, rates ...float64) ([]doctorLoad, error) {
	phases := []plan.Phase{{Kind: plan.Hold, Label: analysis.Settle, Rate: rates[0], For: probeSettle}}
	for _, rate := range rates {
		phases = append(phases, plan.Phase{Kind: plan.Hold, Rate: rate, For: span})
	}
	p, err := b.plan(phases...)
	if err != nil {
		return nil, err
	}
	if err := b.driver.Run(ctx, int(b.seed), p); err != nil {
		return nil, err
	}
	steps := b.series.Steps()
	var loads []doctorLoad
	for _, s := range steps[len(steps)-len(rates):] {
		loads = append(loads, b.load(s))
	}
	return loads, nil
}

// load says what came of a step, by the rules of a run.
func (b *prober) load(recorded *record.Step) doctorLoad {
	s := analysis.StepOf(recorded, b.series, b.meta)
	l := doctorLoad{
		IntendedRPS: s.IntendedRPS,
		AnsweredRPS: s.GoodputRPS,
		LagP50MS:    ms(recorded.Lag.P50),
		LagP99MS:    ms(recorded.Lag.P99),
		ResponseP99: ms(recorded.Response.P99),
		Honest:      s.Valid,
		Why:         s.Why,
	}
	if s.Generator != nil {
		l.CPUShare, l.WaitedShare = s.Generator.CPUShare, s.Generator.WaitedShare
	}
	if l.Honest && float64(s.Counts.Good) < answered*float64(s.Counts.Planned) {
		l.Honest, l.Why = false, "not all was answered in time"
	}
	return l
}

// closedRate returns the rate of a closed loop: what generator and server do
// together when they do nothing else.
func (b *prober) closedRate(ctx context.Context) (float64, error) {
	p, err := b.plan(plan.Phase{Kind: plan.Hold, Rate: plan.MaxRate / 2, For: probeFor})
	if err != nil {
		return 0, err
	}
	if err := b.driver.RunClosed(ctx, int(b.seed), p, probeConns); err != nil {
		return 0, err
	}
	steps := b.series.Steps()
	return float64(steps[len(steps)-1].Total.Good) / probeFor.Seconds(), nil
}

// How the ceiling is looked for.
const (
	ceilingGuess = 0.9   // of the rate of a closed loop
	ceilingStep  = 1.25  // up or down from the first guess, until the ceiling is in between
	ceilingWidth = 1.08  // of the range in which it is known to be
	leastCeiling = 500.0 // per second: a machine that cannot do that measures nothing
)

// othersRan is the share of the time that the generator's busiest thread waited
// for a CPU from which others may be why a load could not be offered.
const othersRan = 0.1

// twice returns what says whether a load can be offered. One that could not be
// while others ran is tried once more, if more says so.
func twice(try func(rate float64) (doctorLoad, error), more func() bool) func(rate float64) (bool, error) {
	return func(rate float64) (bool, error) {
		l, err := try(rate)
		if err == nil && !l.Honest && l.WaitedShare != nil && *l.WaitedShare >= othersRan && more() {
			l, err = try(rate)
		}
		return l.Honest, err
	}
}

// ceiling looks for the highest load that can be offered, from a guess on, until
// it is known to within ceilingWidth or more says no. offer tries a load. 0 is a
// machine that can offer none.
func ceiling(guess float64, offer func(rate float64) (honest bool, err error), more func() bool) (float64, error) {
	low, high := 0.0, math.Inf(1) // what could be offered, and what could not
	for rate := min(max(guess, leastCeiling), plan.MaxRate); more(); {
		honest, err := offer(rate)
		if err != nil {
			return 0, err
		}
		if honest {
			low = rate
		} else {
			high = rate
		}
		switch {
		case high <= leastCeiling, low >= plan.MaxRate, high/low <= ceilingWidth:
			return low, nil
		case low == 0:
			rate = max(leastCeiling, high/ceilingStep)
		case math.IsInf(high, 1):
			rate = min(low*ceilingStep, plan.MaxRate)
		default:
			rate = math.Sqrt(low * high)
		}
	}
	return low, nil
}
