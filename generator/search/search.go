// Package search decides which load to try next until the knee of a server is
// bracketed, and then how far goodput holds past it.
//
// It is the Controller of MLRsearch's three roles (Manager, Controller,
// Measurer; draft-ietf-bmwg-mlrsearch-15): it sees rates and counts only, so
// the same code searches sockets, virtual time and the functions of its tests.
// The caller asks Next for a trial, runs it, and hands what came of it to
// Observe, until Next says that there is none.
//
// A search has up to five stages: probe (only without a guess of the capacity:
// grow until a load is bad), coarse (a geometric grid around the guess, in
// random order), refine (bisect the bracket, then repeat its ends), certify (on
// request: go on at both ends until a sign test is sure), and retention (loads
// to MaxX times the bracket's upper end). It starts no trial that does not fit
// into what is left of Budget.
package search

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"knee/analysis/knee"
	"knee/analysis/plateau"
)

// Options describe a search. The zero value searches upwards from 10 requests
// per second.
type Options struct {
	// Guess is the capacity that was declared, in requests per second; 0:
	// unknown.
	Guess float64
	// Min and Max are hard limits of the load in requests per second; 0:
	// none. The search never offers less than Min nor more than Max.
	Min, Max float64
	// MaxX is how far past the knee to go, as a multiple of the upper end of
	// the knee's interval. The last load is exactly that. Default 10.2; at
	// most 1: nothing past the knee.
	MaxX float64
	// Budget limits the whole search, with settling and draining. Default:
	// about what DefaultBudget says.
	Budget time.Duration
	// Timeout is how long an answer is good for, and Grace how much longer the
	// generator listens. Trials are sized by them. Default of Timeout 1 s, of
	// Grace 0.
	Timeout, Grace time.Duration
	// Eps and Width are those of knee.Options: the share of the baseline that
	// a good load may lose, and the relative width at which a bracket is
	// narrow. Default 0.05 each.
	Eps, Width float64
	// Certify goes on at both ends of the bracket until a sign test is sure
	// of them at 95 %, with trials of full length and at most 240 of them. It
	// raises the default budget.
	Certify bool
	// Resettable says that the server is empty at the start of every trial.
	// It then needs less time to settle.
	Resettable bool
	// Seed determines the order of the loads.
	Seed uint64
}

// usual is the default of Eps and Width.
const usual = 0.05

// The stages of a search.
const (
	Probe     = "probe"
	Coarse    = "coarse"
	Refine    = "refine"
	Certify   = "certify"
	Retention = "retention"
)

// Trial is one load to offer at a constant mean rate: for Settle, which is not
// judged, and then for Measure, which is.
type Trial struct {
	Stage   string
	Rate    float64 // requests per second
	Settle  time.Duration
	Measure time.Duration
}

// Observation is what became of the measured part of a trial.
type Observation struct {
	Offered float64 // sent and withheld originals per second
	Goodput float64 // good ones per second
	Sent    uint64  // originals behind Offered
	Good    uint64  // originals behind Goodput
	P99     time.Duration
	Growing bool // the backlog rose throughout: see stat.Growing
	Limited bool // the generator could not offer the load
	// Elapsed is what the trial took from its start until the server was
	// idle again; 0: what was planned.
	Elapsed time.Duration
}

// Search is one search. It is not safe for concurrent use.
type Search struct {
	opt       Options
	unit      time.Duration // measured time of a refining trial
	rng       *rand.Rand
	log       []entry
	spent     time.Duration
	stage     string
	pending   *Trial
	long      bool      // pending is a long one
	exposure  bool      // short trials were shown up by a long one
	guided    int       // bisections that the goodput past the bracket has guided
	queue     []float64 // loads that the present pass has still to offer
	passes    int       // of retention
	left      bool      // retention had to leave loads out
	ends      [2]end    // certify: lower and upper
	certified bool
	why       string
	notes     []string
}

// New returns a search that has tried nothing yet. It fails when the options
// contradict each other.
func New(o Options) (*Search, error) {
	var errs []error
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"guess", o.Guess},
		{"min", o.Min},
		{"max", o.Max},
		{"max x", o.MaxX},
		{"eps", o.Eps},
		{"width", o.Width},
	} {
		if f.v < 0 || math.IsNaN(f.v) || math.IsInf(f.v, 0) {
			errs = append(errs, fmt.Errorf("search: %s %v: must be a finite number of at least 0", f.name, f.v))
		}
	}
	for _, f := range []struct {
		name string
		v    time.Duration
	}{{"budget", o.Budget}, {"timeout", o.Timeout}, {"grace", o.Grace}} {
		if f.v < 0 {
			errs = append(errs, fmt.Errorf("search: %s %v: must be at least 0", f.name, f.v))
		}
	}
	if o.Max > 0 && o.Min > o.Max {
		errs = append(errs, fmt.Errorf("search: min %v: must be at most max, which is %v", o.Min, o.Max))
	}
	if o.Eps > 0.5 {
		errs = append(errs, fmt.Errorf("search: eps %v: must be at most 0.5", o.Eps))
	}
	if o.Width > 1 {
		errs = append(errs, fmt.Errorf("search: width %v: must be at most 1", o.Width))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if o.MaxX == 0 {
		o.MaxX = 10.2
	}
	if o.Eps == 0 {
		o.Eps = usual
	}
	if o.Width == 0 {
		o.Width = usual
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget(o)
	}
	h := fnv.New64a()
	h.Write([]byte("search"))
	s := &Search{opt: o, rng: rand.New(rand.NewPCG(o.Seed, h.Sum64())), stage: Coarse}
	s.unit = s.unitFor(o.Budget)
	if o.Guess == 0 {
		s.stage = Probe
	}
	return s, nil
}

// Next returns the trial to run now, and false when the search is over. Until
// it is observed it stays the same.
func (s *Search) Next() (Trial, bool) {
	if s.pending != nil {
		return *s.pending, true
	}
	for s.why == "" {
		stage := s.stage
		var t Trial
		var ok bool
		switch stage {
		case Probe:
			t, ok = s.probe()
		case Coarse:
			t, ok = s.coarse()
		case Refine:
			t, ok = s.refine()
		case Certify:
			t, ok = s.certify()
		case Retention:
			t, ok = s.retention()
		}
		if ok {
			t.Stage = stage
			s.pending = &t
			return t, true
		}
	}
	return Trial{}, false
}

// Observe counts what became of the trial that Next returned. It panics when t
// is another one.
func (s *Search) Observe(t Trial, o Observation) {
	if s.pending == nil || *s.pending != t {
		panic(fmt.Sprintf("search: observed a trial that was not asked for: %+v", t))
	}
	e := entry{trial: t, seen: o, long: s.long}
	s.log = append(s.log, e)
	s.pending, s.long = nil, false
	if t.Stage == Certify && !o.Limited {
		s.testify(t.Rate, e.good(baseline(s.byRate()), s.opt.Eps))
	}
	if o.Elapsed > 0 {
		s.spent += o.Elapsed
	} else {
		s.spent += s.cost(t)
	}
}

// Points returns the trials that the result rests on, in the order in which
// they were run: without those that were taken for warm-up or were superseded
// by longer ones.
func (s *Search) Points() []knee.Point {
	points := make([]knee.Point, 0, len(s.log))
	levels := s.levels()
	for i := range s.log {
		if e := &s.log[i]; !e.stale && !s.superseded(e, levels) {
			points = append(points, e.point())
		}
	}
	return points
}

// Result returns the knee and the plateau by all that was measured so far. It
// may be asked for at any time.
func (s *Search) Result() (knee.Result, plateau.Result) {
	o := knee.Options{Eps: s.opt.Eps, Width: s.opt.Width}
	o.Low, o.High = s.Certified()
	p := s.Points()
	k := knee.Find(p, o)
	return k, plateau.Judge(p, k, o)
}

// Certified returns the ends of the bracket when both passed the sign test, else 0.
func (s *Search) Certified() (low, high float64) {
	if !s.certified {
		return 0, 0
	}
	return s.ends[0].rate, s.ends[1].rate
}

// Why says why the search ended; it is empty until then.
func (s *Search) Why() string { return s.why }

// Notes are remarks on what the search met on its way, such as a warm-up.
func (s *Search) Notes() []string { return s.notes }

// move goes on to the next stage.
func (s *Search) move(stage string) {
	s.stage, s.queue = stage, nil
}

// finish ends the search.
func (s *Search) finish(why string) { s.why = why }
