package analysis

import (
	"strings"
	"testing"
	"time"

	"knee/generator/record"
)

const (
	timeout = 200 * time.Millisecond
	took    = 50 * time.Microsecond // less than any gap here: endings come in the order of arrivals
)

// A stretch is a step of a made-up run: what becomes of the requests of each
// second, evenly spread, and when.
type stretch struct {
	phase  string
	trial  int
	rate   float64
	length time.Duration
	good   float64       // share that is good; the rest is rejected
	unsent float64       // share that is not sent, of all
	lost   record.Kind   // of what is not good; zero: Rejected
	lag    time.Duration // of each attempt
	until  time.Duration // when the load was stopped, of the step; 0: it was not
}

// madeUp records stretches one after another.
func madeUp(stretches ...stretch) *record.Series {
	series := record.NewSeries([]string{"all"})
	r := record.NewRecorder(record.RecorderOptions{
		Classes: []string{"all"}, MaxLatency: time.Second,
		Sink: func(d *record.Delta) { series.Add(d); d.Release() },
	})
	var start time.Duration
	for i, s := range stretches {
		r.Begin(record.StepInfo{Index: i, Phase: s.phase, Trial: s.trial, Start: start, Duration: s.length, From: s.rate, To: s.rate})
		n := int(s.rate * s.length.Seconds())
		for k := range n {
			at := start + time.Duration(float64(k)/s.rate*float64(time.Second))
			if s.until > 0 && at-start >= s.until {
				break
			}
			r.Tick(at)
			r.Planned(i, 0, at)
			e := record.Ending{Step: i, Planned: at, Sent: at + s.lag, Done: at + s.lag + took}
			switch share := float64(k%100) / 100; {
			case share < s.unsent:
				e.Kind, e.Reason, e.Done = record.Unsent, "in_flight", at
				r.End(&e)
				continue
			case share < s.unsent+s.good:
				e.Kind = record.Good
			default:
				e.Kind, e.Reason = record.Rejected, "queue_full"
				if s.lost != 0 {
					e.Kind, e.Reason = s.lost, ""
				}
			}
			r.Attempt(i, 0, at, at, at+s.lag, true, false)
			r.End(&e)
		}
		start += s.length
	}
	r.Flush(start)
	return series
}

func wall() Meta {
	return Meta{Run: Run{Clock: Wall}, Timeout: timeout, CapacityRPS: 1000}
}

// load is a measured second at a rate, of which so much is good.
func load(trial int, rate, good float64) stretch {
	return stretch{phase: "coarse", trial: trial, rate: rate, length: time.Second, good: good}
}

func TestAStepCountsWhatBecameOfItsLoad(t *testing.T) {
	r := Analyze(madeUp(load(0, 500, 0.8)), wall())
	s := r.Steps[0]
	if s.Counts.Planned != 500 || s.Counts.Good != 400 || s.Counts.Rejected != 100 || s.RejectedByReason["queue_full"] != 100 {
		t.Errorf("counts %+v, rejected %v; want 500 planned, 400 good, 100 queue_full", s.Counts, s.RejectedByReason)
	}
	if s.OfferedRPS != 500 || s.GoodputRPS != 400 || *s.LoadX != 0.5 {
		t.Errorf("offered %v, goodput %v, x %v; want 500, 400, 0.5", s.OfferedRPS, s.GoodputRPS, *s.LoadX)
	}
	if s.ResponseMS.P99 == nil || *s.ResponseMS.P99 < 0.049 || *s.ResponseMS.P99 > 0.051 {
		t.Errorf("p99 %v, want 0.05 ms from 400 samples", s.ResponseMS.P99)
	}
	if s.ResponseMS.P999 != nil {
		t.Errorf("p999 %v of 400 samples, want none: they cannot support it", *s.ResponseMS.P999)
	}
	if !s.Valid || s.Growing {
		t.Errorf("valid %v (%s), growing %v; want a valid, steady step", s.Valid, s.Why, s.Growing)
	}
}

func TestWhatSupportsNoClaim(t *testing.T) {
	late := load(0, 500, 1)
	late.lag = 30 * time.Millisecond
	unsent := load(0, 500, 0.5)
	unsent.unsent = 0.1
	settle := load(0, 500, 1)
	settle.phase = Settle
	cut := load(0, 500, 1)
	cut.until = 300 * time.Millisecond
	virtual, stopped := wall(), wall()
	virtual.Run.Clock = Virtual
	stopped.Stopped = true
	for name, c := range map[string]struct {
		s         stretch
		m         Meta
		why       string // begins with
		generator string
	}{
		"requests were sent late":           {late, wall(), "generator limited: lag p99", "limited"},
		"virtual time knows no lag":         {late, virtual, "", "ok"},
		"a tenth was not sent":              {unsent, wall(), "generator limited: 10.0% unsent (in_flight)", "limited"},
		"not in virtual time either":        {unsent, virtual, "generator limited: 10.0% unsent (in_flight)", "limited"},
		"settling is not measured":          {settle, wall(), "not measured", "ok"},
		"the run was stopped in the middle": {cut, stopped, "cut short", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Analyze(madeUp(c.s), c.m)
			s := r.Steps[0]
			if s.Valid != (c.why == "") || !strings.HasPrefix(s.Why, c.why) {
				t.Errorf("valid %v, why %q; want %q", s.Valid, s.Why, c.why)
			}
			if r.Generator.Verdict != c.generator {
				t.Errorf("generator %s, want %s", r.Generator.Verdict, c.generator)
			}
		})
	}
}

func TestAStepThatWasCutShortLastedUntilThen(t *testing.T) {
	cut := load(0, 500, 1)
	cut.until = 400 * time.Millisecond
	m := wall()
	m.Stopped = true
	s := Analyze(madeUp(load(0, 100, 1), cut), m).Steps
	if s[0].DurationS != 1 || !s[0].Valid {
		t.Errorf("the whole step lasted %v s, valid %v; want 1 s and valid", s[0].DurationS, s[0].Valid)
	}
	if s[1].DurationS != 0.4 || s[1].OfferedRPS != 500 {
		t.Errorf("the cut step lasted %v s at %v/s; want 0.4 s at 500/s", s[1].DurationS, s[1].OfferedRPS)
	}
}

// curve is a run over five loads of a server that carries 1,000/s.
func curve(extra ...stretch) []stretch {
	return append([]stretch{
		load(0, 250, 1), load(1, 500, 1), load(2, 900, 1), load(3, 2000, 0.5), load(4, 4000, 0.25), load(5, 11000, 0.09),
	}, extra...)
}

func TestAnalyzeFindsTheKneeOfARun(t *testing.T) {
	r := Analyze(madeUp(curve()...), wall())
	if r.Knee.Verdict != "found" || *r.Knee.RPS < 950 || *r.Knee.RPS > 1050 || *r.Knee.X != *r.Knee.RPS/1000 {
		t.Errorf("knee %+v, want about 1000/s", r.Knee)
	}
	if r.Plateau.Verdict != "plateau" {
		t.Errorf("plateau %+v, want plateau", r.Plateau)
	}
	if r.Capacity.Source != "declared" || *r.Capacity.RPS != 1000 {
		t.Errorf("capacity %+v, want the declared 1000/s", r.Capacity)
	}
}

func TestXIsOfTheKneeWhereNoCapacityIsDeclared(t *testing.T) {
	m := wall()
	m.CapacityRPS = 0
	r := Analyze(madeUp(curve()...), m)
	if r.Capacity.Source != "measured" || r.Capacity.RPS == nil || *r.Capacity.RPS != *r.Knee.RPS {
		t.Fatalf("capacity %+v, want the knee, measured", r.Capacity)
	}
	if want := r.Steps[0].IntendedRPS / *r.Knee.RPS; r.Steps[0].LoadX == nil || *r.Steps[0].LoadX != want {
		t.Errorf("load x %v, want %v", r.Steps[0].LoadX, want)
	}
}

func TestATrialThatWasSetAsideSaysNothing(t *testing.T) {
	late := load(6, 900, 0.1) // would be a bad load below the knee
	late.lag = 50 * time.Millisecond
	m := wall()
	m.SetAside = []int{6}
	r := Analyze(madeUp(curve(late)...), m)
	if r.Knee.Verdict != "found" || *r.Knee.RPS < 950 {
		t.Errorf("knee %s at %v, want about 1000/s", r.Knee.Verdict, r.Knee.RPS)
	}
	if r.Generator.Verdict != generatorOK {
		t.Errorf("generator %+v, want ok: another trial took its place", r.Generator)
	}
	if s := r.Steps[6]; !s.SetAside || s.Valid {
		t.Errorf("step set aside %v, valid %v; want it marked, and not valid", s.SetAside, s.Valid)
	}
}

// spiked is a run with a spike that goodput needs two seconds to return from.
func spiked(back time.Duration) []stretch {
	part := func(phase string, rate, good float64, length time.Duration) stretch {
		return stretch{phase: phase, trial: 9, rate: rate, length: length, good: good}
	}
	return []stretch{
		part(Base, 1000, 1, 3*time.Second), part(Spike, 3000, 0.3, 2*time.Second),
		part(After, 1000, 0, back), part(After, 1000, 1, 12*time.Second),
	}
}

func TestRecoveryAfterASpike(t *testing.T) {
	for _, back := range []time.Duration{400 * time.Millisecond, 2 * time.Second} {
		r := Analyze(madeUp(spiked(back)...), wall()).Recovery
		if r.Verdict != "recovered" || r.Spikes != 1 {
			t.Fatalf("recovery %+v, want recovered after one spike", r)
		}
		if *r.MedianS < back.Seconds()-0.2 || *r.MedianS > back.Seconds()+0.2 || *r.LowS > back.Seconds() || *r.HighS < back.Seconds() {
			t.Errorf("recovery %v (%v to %v) s, want %v within a window", *r.MedianS, *r.LowS, *r.HighS, back)
		}
	}
}

func TestRecoveryIsNotTestedWithoutASpikeOrABase(t *testing.T) {
	for name, stretches := range map[string][]stretch{
		"no spike":          {load(0, 500, 1)},
		"nothing before it": spiked(time.Second)[1:],
		"nothing after it":  spiked(time.Second)[:2],
	} {
		if r := Analyze(madeUp(stretches...), wall()).Recovery; r.Verdict != "not_tested" || r.Why == "" {
			t.Errorf("%s: %+v, want not_tested and why", name, r)
		}
	}
}

func TestTheLoadAfterASpikeIsNoPointOfTheCurve(t *testing.T) {
	stretches := curve(
		stretch{phase: "hold", trial: 9, rate: 700, length: time.Second, good: 1},
		stretch{phase: "spike", trial: 9, rate: 3000, length: time.Second, good: 0.3},
		stretch{phase: "hold", trial: 9, rate: 700, length: time.Second, good: 0.1}, // still bad
	)
	if r := Analyze(madeUp(stretches...), wall()); r.Knee.Verdict != "found" || *r.Knee.RPS < 950 {
		t.Errorf("knee %s at %v (%s), want about 1000/s", r.Knee.Verdict, r.Knee.RPS, r.Knee.Why)
	}
}

// What a queue took in during a trial looks like goodput, and is not: the server
// carries 400/s here, and the rest of the good answers comes after the end.
func TestWhatAQueueOwesIsNoGoodput(t *testing.T) {
	fill := Step{
		Phase: "refine", IntendedRPS: 500, OfferedRPS: 500, GoodputRPS: 490, DurationS: 1, Valid: true,
		Counts: Counts{Planned: 500, Sent: 500, Good: 490, Rejected: 10}, GoodDuring: 400, InFlightStart: 10, InFlightEnd: 100,
	}
	if p := Point(fill); p.Goodput != 400 || p.Good != 400 {
		t.Errorf("goodput %v from %d good, want the 400 that came during the step", p.Goodput, p.Good)
	}
	chance := fill
	chance.GoodDuring, chance.InFlightStart, chance.InFlightEnd = 482, 10, 18
	if p := Point(chance); p.Goodput != 490 || p.Good != 490 {
		t.Errorf("goodput %v from %d good, want 490: eight more in flight are chance", p.Goodput, p.Good)
	}
	drain := fill
	drain.GoodDuring, drain.InFlightStart, drain.InFlightEnd = 580, 100, 10
	if p := Point(drain); p.Goodput != 490 {
		t.Errorf("goodput %v, want 490: what was due before does not count", p.Goodput)
	}
}

func TestGoodDuringAStep(t *testing.T) {
	r := Analyze(madeUp(load(0, 500, 1), load(1, 1000, 0.5)), wall())
	for i, want := range []struct{ good, open int }{{500, 0}, {500, 0}} {
		if s := r.Steps[i]; s.GoodDuring != uint64(want.good) || s.InFlightEnd != want.open {
			t.Errorf("step %d: %d good during it and %d open at its end, want %+v", i, s.GoodDuring, s.InFlightEnd, want)
		}
	}
	odd := load(0, 500, 1)
	odd.length = 300 * time.Millisecond // not whole windows: what came during it is not known
	if s := Analyze(madeUp(odd), wall()).Steps[0]; s.GoodDuring != s.Counts.Good {
		t.Errorf("%d good during a step of one and a half windows, want all %d", s.GoodDuring, s.Counts.Good)
	}
}

func TestNoKneeIsAnAnswerToTheWholeRangeOnly(t *testing.T) {
	healthy := []stretch{load(0, 100, 1), load(1, 200, 1), load(2, 400, 1)}
	m := wall()
	if r := Analyze(madeUp(healthy...), m); r.Knee.Verdict != "no_knee" || r.Plateau.Verdict != "no_knee" {
		t.Errorf("knee %s, plateau %s; want no_knee", r.Knee.Verdict, r.Plateau.Verdict)
	}
	m.CutOff = true
	r := Analyze(madeUp(healthy...), m)
	if r.Knee.Verdict != "insufficient" || r.Plateau.Verdict != "insufficient" || *r.Knee.LowRPS != 400 {
		t.Errorf("knee %s above %v, plateau %s; want insufficient, above 400/s", r.Knee.Verdict, r.Knee.LowRPS, r.Plateau.Verdict)
	}
}
