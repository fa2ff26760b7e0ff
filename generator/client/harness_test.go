package client

import (
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
)

const ms = time.Millisecond

// harness is a population with its records, without a shell: the test carries
// effects out by looking at them.
type harness struct {
	*Population
	t      *testing.T
	series *record.Series
}

func newHarness(t *testing.T, o Options) *harness {
	t.Helper()
	if o.Classes == nil {
		o.Classes = []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: 100 * ms, Deadline: 100 * ms}}
	}
	var names []string
	for _, c := range o.Classes {
		names = append(names, c.Name)
	}
	h := &harness{t: t, series: record.NewSeries(names)}
	p, err := New(o, record.NewRecorder(record.RecorderOptions{
		Classes:    names,
		MaxLatency: time.Second,
		Sink: func(d *record.Delta) {
			h.series.Add(d)
			d.Release()
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	h.Population = p
	return h
}

// offer offers constant arrivals, rate per second for d, and returns when they
// are due.
func (h *harness) offer(start time.Duration, rate float64, d time.Duration) []time.Duration {
	h.t.Helper()
	return h.offerPhases(start, plan.Phase{Kind: plan.Hold, Rate: rate, For: d})
}

func (h *harness) offerPhases(start time.Duration, phases ...plan.Phase) []time.Duration {
	h.t.Helper()
	p, err := plan.New(plan.Spec{
		Classes: []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: ms, Deadline: ms}},
		Clients: 1,
		Phases:  phases,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	var due []time.Duration
	for a := range p.All() {
		due = append(due, start+a.At)
	}
	h.Offer(p, 0, start)
	return due
}

// one offers a single arrival and has it sent when it is due.
func (h *harness) one() (*Attempt, time.Duration) {
	h.t.Helper()
	due := h.offer(0, 10, 100*ms)
	if len(due) != 1 {
		h.t.Fatalf("%d arrivals, want 1", len(due))
	}
	return h.sent(h.Advance(due[0]), 1)[0], due[0]
}

// sent returns the attempts that effects send, of which there must be n.
func (h *harness) sent(effects []Effect, n int) []*Attempt { return h.only(effects, Send, n) }

// cancelled returns the attempts that effects cancel, of which there must be n.
func (h *harness) cancelled(effects []Effect, n int) []*Attempt { return h.only(effects, Cancel, n) }

func (h *harness) only(effects []Effect, kind EffectKind, n int) []*Attempt {
	h.t.Helper()
	var of []*Attempt
	for _, e := range effects {
		if e.Kind == kind {
			of = append(of, e.Attempt)
		}
	}
	if len(of) != n {
		h.t.Fatalf("%d effects of kind %d, want %d: %v", len(of), kind, n, effects)
	}
	return of
}

// total flushes the records at now and returns the sum over all steps, which
// must be conserved unless some originals are open.
func (h *harness) total(now time.Duration) record.Tally {
	h.t.Helper()
	h.recorder.Flush(now)
	var sum record.Tally
	for _, s := range h.series.Steps() {
		sum.Add(s.Total)
	}
	if err := sum.Conserved(); err != nil && h.Open() == 0 {
		h.t.Fatal(err)
	}
	return sum
}

// idle fails the test unless the population wants nothing but recorder ticks.
func (h *harness) idle() {
	h.t.Helper()
	if _, due := h.caller.timers.next(); due != protection.Never || h.Offering() || h.Open() != 0 || h.InFlight() != 0 {
		h.t.Fatalf("a wait ends at %v, offering %v, %d open, %d in flight: want nothing left", due, h.Offering(), h.Open(), h.InFlight())
	}
}
