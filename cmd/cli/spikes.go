package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"knee/analysis"
	"knee/analysis/metastable"
	"knee/analysis/recovery"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

// spikeOptions are the flags about the spikes that find ends with.
type spikeOptions struct {
	n         count
	base      string
	threshold bool
}

// How many spikes there are. Six are the fewest that give a median an interval of
// 95%.
const (
	usualSpikes     = 6
	quickSpikes     = 1
	mostSpikes      = 100
	thresholdSpikes = 3 // at each base load
)

func (o *spikeOptions) add(f *pflag.FlagSet) {
	o.n.of = usualSpikes
	f.Var(&o.n, "spikes", "end with `N` spikes of three times the knee; 0: none (default with --quick 1, with --url 0)")
	f.Var((*given)(&o.base), "base", "`LOAD` before and after a spike: a multiple of the knee, or a rate (default 0.7x)")
	f.BoolVar(&o.threshold, "stable-threshold", false, "find the highest load from which the server always comes back after a spike")
}

// check refuses what is not allowed.
func (o *spikeOptions) check() error {
	if n := o.n.of; n < 0 || n > mostSpikes {
		return fail(verdict.CodeUsage, "--spikes %d: want 0 to %d", n, mostSpikes)
	}
	if o.threshold && o.n.given && o.n.of == 0 {
		return fail(verdict.CodeUsage, "--stable-threshold with --spikes 0: the threshold is found by spikes; want one of them")
	}
	_, err := o.baseRate(1)
	return err
}

// baseRate returns the load before and after a spike for a knee.
func (o *spikeOptions) baseRate(knee float64) (float64, error) {
	if o.base == "" {
		return baseX * knee, nil
	}
	r, err := profiles.ParseRate(o.base)
	switch {
	case err != nil || !(r.Value > 0):
		return 0, fail(verdict.CodeUsage, "--base %s: want a multiple of the knee such as 0.7x, or a rate such as 350", o.base)
	case r.X && r.Value > 1:
		return 0, fail(verdict.CodeUsage, "--base %s: want at most 1x: the server must be healthy before a spike", o.base)
	case r.X:
		return r.Value * knee, nil
	}
	return r.Value, nil
}

// spikesTo returns how many spikes there are to be.
func (f *finder) spikesTo() int {
	o := f.o.spikes
	switch {
	case o.n.given:
		return o.n.of
	case o.threshold:
		return thresholdSpikes
	case !f.resettable():
		return 0
	case f.o.quick:
		return quickSpikes
	}
	return usualSpikes
}

// The load of a spike as multiples of the knee, and how long its parts are held.
const (
	baseX     = 0.7
	spikeX    = 3.0
	settleFor = 500 * time.Millisecond
	baseFor   = 2 * time.Second
	spikeFor  = 2 * time.Second
	quickFor  = time.Second // base and spike, for a quick answer
	// At a low rate a recovery takes longer to see than anybody waits: what held
	// for this long is reported as back, and for how long it held.
	stayedFor = 6 * time.Second
	// A state that does not end is one once it was held for so long …
	heldLeast     = 20 * time.Second
	heldDeadlines = 30 // … and as many deadlines
	// No state is held for longer than this on the wall clock, or heldMost deadlines,
	// and patience is cheap in virtual time.
	heldMost    = 60 * time.Second
	heldVirtual = 20 * time.Minute
	heldFor     = 5 * time.Second // before it is looked at again
	// A server that was asked for nothing for so long has had the time to work off what
	// it holds, if it does not say so.
	idleDeadlines = 5
	idleFor       = time.Second // before it is looked at again
	// After spikesMost no further spike begins, once there were thresholdSpikes.
	spikesMost = 2 * time.Minute
)

// A shape is the load of a spike and how long its parts are held.
type shape struct {
	name                         string
	knee, base, peak             float64
	settle, before, spike, after time.Duration
	least, most                  time.Duration // that a state is held before it is one, and at all
}

// shape returns the spike for a knee and a base load. limit is a load that is never
// exceeded, 0 when there is none.
func (s *session) shape(knee, base, limit float64) shape {
	deadline := s.longest()
	of := shape{knee: knee, base: base, peak: spikeX * knee, settle: settleFor, before: baseFor, spike: spikeFor}
	if limit > 0 {
		of.peak = min(of.peak, limit)
	}
	if s.o.quick {
		of.before, of.spike = quickFor, quickFor
	}
	if of.peak > knee {
		// Twice the backlog beyond which the last of it is served too late.
		twice := 2 * deadline.Seconds() * knee / (of.peak - knee)
		of.spike = record.NextWindow(max(of.spike, time.Duration(twice*float64(time.Second))))
	}
	of.after = record.NextWindow(min(recovery.Sustained(recovery.Options{BaseRate: base, Deadline: deadline}), max(stayedFor, 3*deadline)) + s.patience())
	of.least = max(heldLeast, heldDeadlines*deadline)
	of.most = max(heldMost, 3*heldDeadlines*deadline)
	if s.o.virtual {
		of.most = max(heldVirtual, of.most)
	}
	return of
}

func (s shape) total() time.Duration { return s.settle + s.before + s.spike + s.after }

// patience is how long after an instant all that was due by then has ended.
func (s *session) patience() time.Duration {
	return record.NextWindow(s.longest() + s.profile.ClientOptions().Grace)
}

// spikesTake returns how long the spikes take when the server recovers quickly, for
// a guess at the knee.
func (f *finder) spikesTake(knee float64) time.Duration {
	base, err := f.o.spikes.baseRate(knee)
	if err != nil || knee <= 0 {
		return 0
	}
	return time.Duration(f.spikesTo()) * f.shape(knee, base, f.limit).total()
}

// spikes offers a base load, a spike, and the base load again, several times over,
// and holds what does not recover until it is known whether it will.
func (f *finder) spikes(ctx context.Context, knee float64) error {
	n := f.spikesTo()
	if n == 0 {
		return nil
	}
	base, err := f.o.spikes.baseRate(knee)
	if err != nil {
		return err
	}
	s := f.shape(knee, base, f.limit)
	if s.peak <= base {
		if f.o.spikes.n.given || f.o.spikes.base != "" {
			f.meta.Warnings = append(f.meta.Warnings, fmt.Sprintf("no spike: its load of %.4g/s is not above the base load of %.4g/s", s.peak, base))
		}
		return nil
	}
	stop := f.listen(ctx)
	defer stop()
	seen, err := f.offerSpikes(ctx, s, n)
	if err != nil || !f.o.spikes.threshold {
		return err
	}
	return f.threshold(ctx, knee, base, seen)
}

// offerSpikes offers up to n spikes of one shape.
func (f *finder) offerSpikes(ctx context.Context, s shape, n int) ([]metastable.Episode, error) {
	began := f.driver.Now()
	var seen []metastable.Episode
	held := 0
	for i := range n {
		took := f.driver.Now() - began
		if i >= thresholdSpikes && !f.o.virtual && took > max(spikesMost, time.Duration(n)*s.total()*5/4) {
			f.meta.Warnings = append(f.meta.Warnings, fmt.Sprintf("%d of %d spikes: after %v there were no more of them", i, n, took.Round(time.Second)))
			break
		}
		f.progress.load(fmt.Sprintf("spike %d of %d", i+1, n), s.peak)
		e, err := f.spike(ctx, s)
		if err != nil {
			return seen, err
		}
		seen = append(seen, e)
		if e.After.Verdict != recovery.Recovered {
			held++
		}
		if held == thresholdSpikes {
			break // more of the same would say no more
		}
	}
	return seen, nil
}

// tries is how often a spike is offered until the generator was punctual.
const tries = 2

// spike offers one spike and what follows it.
func (f *finder) spike(ctx context.Context, s shape) (metastable.Episode, error) {
	for n := range tries {
		if n > 0 {
			f.meta.SetAside = append(f.meta.SetAside, f.trials-1)
		}
		if err := f.reset(ctx); err != nil {
			return metastable.Episode{}, err
		}
		t := &following{finder: f, shape: s, first: len(f.series.Steps())}
		err := f.driver.Perform(ctx, f.trials, s.peak, t.next)
		f.trials++
		if err == nil {
			err = t.failed
		}
		if err != nil {
			return metastable.Episode{}, err
		}
		steps := f.series.Steps()[t.first:]
		if !f.resettable() {
			last := analysis.StepOf(steps[len(steps)-1], f.series, f.meta)
			if err := f.drain(ctx, last); err != nil {
				return metastable.Episode{}, err
			}
		}
		unpunctual := slices.ContainsFunc(steps, func(s *record.Step) bool { return analysis.StepOf(s, f.series, f.meta).Unpunctual() })
		if !unpunctual || n == tries-1 {
			e, _ := analysis.Episode(steps, f.series, f.known(), s.knee, 0)
			return e, nil
		}
	}
	panic("cli: a spike was offered and not looked at")
}

// A following says what follows a spike, by what was seen.
type following struct {
	*finder
	shape  shape
	first  int           // step of the trial
	plans  int           // made so far
	ended  time.Duration // when the spike was over
	idle   time.Duration // since when the server is asked for nothing; 0: it is
	again  bool          // it was asked once more
	failed error
}

// next returns what is offered from now on, nil when all is known.
func (t *following) next(now time.Duration) *plan.Plan {
	s := t.shape
	switch {
	case t.plans == 0:
		t.ended = now + s.settle + s.before + s.spike
		return t.plan(
			plan.Phase{Kind: plan.Hold, Label: analysis.Settle, Rate: s.base, For: s.settle},
			plan.Phase{Kind: plan.Hold, Label: analysis.Base, Rate: s.base, For: s.before},
			plan.Phase{Kind: plan.Spike, Label: analysis.Spike, Rate: s.peak, For: s.spike},
			plan.Phase{Kind: plan.Hold, Label: analysis.After, Rate: s.base, For: s.after},
		)
	case t.again:
		return nil
	case t.idle > 0:
		if !t.empty(now) {
			return t.plan(plan.Phase{Kind: plan.Hold, Label: analysis.Idle, For: idleFor})
		}
		t.again = true
		return t.plan(plan.Phase{Kind: plan.Hold, Label: analysis.Again, Rate: s.base, For: s.after})
	}
	e, ok := analysis.Episode(t.series.Steps()[t.first:], t.series, t.known(), s.knee, now-t.finder.patience())
	if !ok {
		t.failed = fail(verdict.CodeInternal, "the records of a spike have none")
		return nil
	}
	held := now - t.ended
	switch e.After.Verdict {
	case recovery.Recovered:
		if held-t.finder.patience()-e.After.FromEnd >= s.after-t.finder.patience() || held >= s.most {
			return nil
		}
	case recovery.Slow:
		if held >= s.most || held >= s.least && e.After.Projection+s.after > s.most {
			return nil
		}
	case recovery.NotRecovered:
		if held >= s.least {
			t.idle = now
			return t.plan(plan.Phase{Kind: plan.Hold, Label: analysis.Idle, For: idleFor})
		}
	default:
		if held >= s.most {
			return nil
		}
	}
	return t.plan(plan.Phase{Kind: plan.Hold, Label: analysis.Hold, Rate: s.base, For: heldFor})
}

// empty says whether the server has worked off what it held, by its own word if it
// gives it.
func (t *following) empty(now time.Duration) bool {
	idle := now - t.idle
	if idle >= t.shape.most {
		return true
	}
	if g, ok := t.gauges.last(now - time.Second); ok {
		return g.Inside() == 0
	}
	return idle >= max(2*time.Second, idleDeadlines*t.longest()+t.profile.ClientOptions().Grace)
}

// plan lays phases out.
func (t *following) plan(phases ...plan.Phase) *plan.Plan {
	for i := range phases {
		phases[i].Name = t.shape.name
	}
	spec, err := t.profile.Workload()
	if err == nil {
		spec.Phases = phases
		spec.Seed = trialSeed(t.profile.Seed, t.trials<<16+t.plans)
		var p *plan.Plan
		if p, err = plan.New(spec); err == nil {
			t.plans++
			return p
		}
	}
	t.failed = fail(verdict.CodeUsage, "%w", err)
	return nil
}

// How exactly the stable threshold is found, and between which multiples of the
// knee.
const (
	thresholdWidth = 0.05
	thresholdLow   = 0.1
	thresholdHigh  = 0.9
)

// threshold halves the range of base loads in which the stable threshold is. seen is
// what came of the spikes at base.
func (f *finder) threshold(ctx context.Context, knee, base float64, seen []metastable.Episode) error {
	low, high := 0.0, math.Inf(1)
	take := func(base float64, r metastable.Result) bool {
		switch {
		case r.Stuck > 0:
			high = min(high, base)
		case r.Verdict == metastable.Inconclusive:
			f.meta.Warnings = append(f.meta.Warnings, fmt.Sprintf("the stable threshold: at %.4g/s it is open whether the server comes back: %s", base, r.Why))
			return false
		default:
			low = max(low, base)
		}
		return true
	}
	if !take(base, metastable.Judge(seen)) {
		return nil
	}
	next := func() float64 {
		switch {
		case math.IsInf(high, 1) && low < thresholdHigh*knee:
			return thresholdHigh * knee
		case math.IsInf(high, 1) || high-low <= thresholdWidth*knee:
			return 0
		case low == 0 && high > 2*thresholdLow*knee:
			return max(thresholdLow*knee, high/2)
		case low == 0:
			return 0
		}
		return (low + high) / 2
	}
	for at := next(); at > 0; at = next() {
		s := f.shape(knee, at, f.limit)
		s.name = analysis.Threshold
		var seen []metastable.Episode
		for range thresholdSpikes {
			f.progress.load(fmt.Sprintf("spikes from %.4g/s", at), s.peak)
			e, err := f.spike(ctx, s)
			if err != nil {
				return err
			}
			seen = append(seen, e)
			if metastable.Judge(seen).Stuck > 0 {
				break
			}
		}
		if !take(at, metastable.Judge(seen)) {
			return nil
		}
	}
	return nil
}
