package client

import (
	"slices"
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// steady offers 2,000 arrivals per second, after more of them at first, of which every second one is
// answered and the others time out, and returns a function that handles one
// arrival.
func steady(tb testing.TB, behaviours ...Behaviour) func() {
	class := plan.Class{Name: "all", Weight: 1, Cost: 1, Timeout: 100 * ms, Deadline: Patience(behaviours, 100*ms)}
	pl, err := plan.New(plan.Spec{
		Classes: []plan.Class{class},
		Clients: 10,
		Phases: []plan.Phase{
			{Kind: plan.Spike, Rate: 8000, For: time.Second},
			{Kind: plan.Hold, Rate: 2000, For: 30 * time.Second},
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := New(Options{Classes: []plan.Class{class}, Grace: 200 * ms, Behaviours: behaviours}, record.NewRecorder(record.RecorderOptions{
		Classes:    []string{"all"},
		MaxLatency: 300 * ms,
	}))
	if err != nil {
		tb.Fatal(err)
	}
	var now time.Duration
	var answers []*Attempt
	plans, answer := 0, false
	return func() {
		for {
			if !p.Offering() {
				p.Offer(pl, 0, time.Duration(plans)*pl.Duration())
				plans++
			}
			now = p.Next()
			sent := false
			for _, e := range p.Advance(now) {
				if e.Kind != Send {
					continue
				}
				sent = sent || e.Attempt.Number == 1
				if answer = !answer; answer {
					answers = append(answers, e.Attempt)
				}
			}
			for i, a := range answers {
				if a == nil {
					continue
				}
				for _, e := range p.Answer(now, a, Answer{}) {
					if k := slices.Index(answers[i:], e.Attempt); k >= 0 {
						answers[i+k] = nil
					}
				}
			}
			answers = answers[:0]
			if sent {
				return
			}
		}
	}
}

func BenchmarkArrival(b *testing.B) {
	arrival := steady(b)
	b.ReportAllocs()
	for b.Loop() {
		arrival()
	}
}

// everything is a chain of all behaviours.
func everything(tb testing.TB) []Behaviour {
	return []Behaviour{
		build[breakerKnobs](tb, "breaker", 10, func(k *breakerKnobs) { k.Timeout = 10 * ms }),
		build[throttleKnobs](tb, "throttle", 10, func(k *throttleKnobs) { k.Window = time.Second }),
		build[retryKnobs](tb, "retry", 10, nil),
		build[hedgeKnobs](tb, "hedge", 10, func(k *hedgeKnobs) { k.Delay = 30 * ms }),
		build[budgetKnobs](tb, "retry_budget", 10, nil),
		build[windowKnobs](tb, "window", 10, func(k *windowKnobs) { k.Credits, k.Allowance = 5, 1 }),
		build[blockingKnobs](tb, "blocking", 10, nil),
	}
}

func BenchmarkArrivalWithBehaviours(b *testing.B) {
	arrival := steady(b, everything(b)...)
	b.ReportAllocs()
	for b.Loop() {
		arrival()
	}
}

func TestSteadyLoadAllocatesNothing(t *testing.T) {
	t.Run("without behaviours", func(t *testing.T) { allocatesNothing(t, steady(t)) })
	t.Run("with hedges", func(t *testing.T) {
		allocatesNothing(t, steady(t, build[hedgeKnobs](t, "hedge", 10, func(k *hedgeKnobs) { k.Delay = 30 * ms })))
	})
	t.Run("with all", func(t *testing.T) { allocatesNothing(t, steady(t, everything(t)...)) })
}

func allocatesNothing(t *testing.T, arrival func()) {
	t.Helper()
	second := func() {
		for range 2000 {
			arrival()
		}
	}
	for range 24 { // fills the pools
		second()
	}
	if n := testing.AllocsPerRun(3, second); n != 0 {
		t.Errorf("%v allocations in 2,000 arrivals, want none", n)
	}
}
