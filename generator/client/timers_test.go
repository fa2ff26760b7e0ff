package client

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/protection"
)

// Queues agree with a list that is searched for the earliest due instant,
// whatever is pushed and removed, also when planned instants go back.
func TestTimersAgreeWithList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		patiences := rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 1, 5, 30}), 1, 4).Draw(t, "patiences")
		var queues timers
		var model []*Attempt
		planned := time.Duration(100)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				q := queues.queue(rapid.SampledFrom(patiences).Draw(t, "patience"))
				planned += time.Duration(rapid.IntRange(-10, 20).Draw(t, "gap"))
				a := &Attempt{Planned: planned}
				a.state.due = planned + q.patience
				q.push(a)
				model = append(model, a)
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				model[i].state.queue.remove(model[i])
				model = slices.Delete(model, i, i+1)
			},
			"": func(t *rapid.T) {
				want := protection.Never
				for _, a := range model {
					want = min(want, a.state.due)
				}
				first, due := queues.next()
				if due != want || (first == nil) != (len(model) == 0) || first != nil && first.state.due != due {
					t.Fatalf("next is %v at %v, want %v", first, due, want)
				}
				checkLinks(t, queues, len(model))
			},
		})
	})
}

// checkLinks fails the test unless the queues hold n attempts in order, linked
// both ways.
func checkLinks(t *rapid.T, queues timers, n int) {
	for _, q := range queues {
		var prev *Attempt
		for a := q.head; a != nil; prev, a = a, a.state.next {
			if a.state.prev != prev || a.state.queue != q || prev != nil && prev.state.due > a.state.due {
				t.Fatalf("broken links at %v", a.state.due)
			}
			n--
		}
		if q.tail != prev {
			t.Fatal("the tail is not the last")
		}
	}
	if n != 0 {
		t.Fatalf("%d attempts too few", n)
	}
}
