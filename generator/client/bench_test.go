package client

import (
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// steady offers 2,000 arrivals per second, of which every second one is
// answered and the others time out, and returns a function that handles one
// arrival.
func steady(tb testing.TB) func() {
	class := plan.Class{Name: "all", Weight: 1, Cost: 1, Timeout: 100 * ms, Deadline: 100 * ms}
	pl, err := plan.New(plan.Spec{
		Classes: []plan.Class{class},
		Clients: 1,
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 2000, For: 10 * time.Second}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := New(Options{Classes: []plan.Class{class}, Grace: 200 * ms}, record.NewRecorder(record.RecorderOptions{
		Classes:    []string{"all"},
		MaxLatency: 300 * ms,
	}))
	if err != nil {
		tb.Fatal(err)
	}
	var now time.Duration
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
				sent = true
				if answer = !answer; answer {
					p.Answer(now, e.Attempt, Answer{})
				}
			}
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

func TestSteadyLoadAllocatesNothing(t *testing.T) {
	arrival := steady(t)
	second := func() {
		for range 2000 {
			arrival()
		}
	}
	for range 3 {
		second() // fills the pools
	}
	if n := testing.AllocsPerRun(3, second); n != 0 {
		t.Errorf("%v allocations in 2,000 arrivals, want none", n)
	}
}
