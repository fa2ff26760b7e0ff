package protection_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/protection"
)

// levels are the four criticalities, the one to be shed first at the front.
var levels = []protection.Criticality{protection.Sheddable, protection.SheddablePlus, protection.Critical, protection.CriticalPlus}

// admits reports which of the levels p lets in at a load, the first of levels first.
func admits(p protection.Protection, l protection.Load) string {
	let := ""
	for _, level := range levels {
		if p.Admit(time.Second, &protection.Request{Criticality: level, Cost: 1}, l) == "" {
			let += "+"
		} else {
			let += "-"
		}
	}
	return let
}

// TestCriticalityThresholds has a wait of 1 ms for each request of the queue.
func TestCriticalityThresholds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		wait  time.Duration
		want  string
	}{
		{"an empty queue", nil, 0, "++++"},
		{"just below the first", nil, 24 * ms, "++++"},
		{"at the first", nil, 25 * ms, "-+++"},
		{"just below the second", nil, 49 * ms, "-+++"},
		{"at the second", nil, 50 * ms, "--++"},
		{"at the third", nil, 75 * ms, "---+"},
		{"just below the last", nil, 99 * ms, "---+"},
		{"at the last", nil, 100 * ms, "----"},
		{"no last", map[string]any{"critical_plus": 0.0}, time.Hour, "---+"},
		{"another setpoint", map[string]any{"setpoint": 200 * ms}, 50 * ms, "-+++"},
		{"equal thresholds", map[string]any{"sheddable_plus": 0.25}, 25 * ms, "--++"},
		{"above 1", map[string]any{"critical_plus": 4.0}, 399 * ms, "---+"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := admits(must(t, "criticality", tt.knobs), waiting(tt.wait)); got != tt.want {
				t.Errorf("lets in %s at a wait of %v, want %s", got, tt.wait, tt.want)
			}
		})
	}
}

func TestCriticalityBand(t *testing.T) {
	p := must(t, "criticality", map[string]any{"band": 0.25})
	for _, tt := range []struct {
		wait time.Duration
		want float64 // share of the sheddable_plus refused
	}{{25 * ms, 0}, {30 * ms, 0.2}, {40 * ms, 0.6}, {50 * ms, 1}} {
		const n = 20_000
		refused := 0.0
		for range n {
			if p.Admit(0, &protection.Request{Criticality: protection.SheddablePlus}, waiting(tt.wait)) != "" {
				refused++
			}
		}
		if got := refused / n; math.Abs(got-tt.want) > 0.02 {
			t.Errorf("refuses %.3f at a wait of %v, want %.1f", got, tt.wait, tt.want)
		}
	}
}

// TestCriticalityKnobs holds which orders of thresholds are refused, by the knob
// that is named.
func TestCriticalityKnobs(t *testing.T) {
	for _, tt := range []struct {
		knobs map[string]any
		knob  string
	}{
		{map[string]any{"critical": 0.4}, "critical"},
		{map[string]any{"critical_plus": 0.7}, "critical_plus"},
		{map[string]any{"sheddable": 0.0}, "sheddable"},
		{map[string]any{"band": 0.26}, "band"},
		{map[string]any{"sheddable": 0.5, "band": 0.1}, "band"},
	} {
		t.Run(fmt.Sprint(tt.knobs), func(t *testing.T) {
			_, err := build(t, "criticality", tt.knobs)
			named(t, err, tt.knob)
		})
	}
}

// TestCriticalityShedsInOrder holds the book's rule: one level is refused only when all of
// the lower ones are.
func TestCriticalityShedsInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.SliceOfNDistinct(rapid.Float64Range(0.1, 3), 4, 4, rapid.ID[float64]).Draw(rt, "thresholds")
		slices.Sort(at)
		gap := at[0]
		for i := 1; i < 4; i++ {
			gap = min(gap, at[i]-at[i-1])
		}
		p := must(t, "criticality", map[string]any{
			"signal":    rapid.SampledFrom([]string{"wait", "age", "in_flight"}).Draw(rt, "signal"),
			"sheddable": at[0], "sheddable_plus": at[1], "critical": at[2], "critical_plus": at[3],
			"band": gap * rapid.Float64Range(0, 1).Draw(rt, "band") * 0.999,
		})
		queue := rapid.IntRange(0, 400).Draw(rt, "queue")
		l := protection.Load{
			Waiting: queue, Running: 10, Admitted: queue + 10, Workers: 10, QueuedCost: float64(queue), CostRate: 1000,
			Oldest: time.Second - time.Duration(rapid.IntRange(0, 400).Draw(rt, "age"))*ms,
		}
		// With a band, a level may be refused by chance: then all of the lower ones are for certain.
		refusedEver := -1
		for range 50 {
			for i, c := range admits(p, l) {
				if c == '-' {
					refusedEver = max(refusedEver, i)
				}
			}
		}
		for range 50 {
			for i, c := range admits(p, l) {
				if i < refusedEver && c == '+' {
					rt.Fatalf("lets in level %d while it refuses level %d", i, refusedEver)
				}
			}
		}
	})
}
