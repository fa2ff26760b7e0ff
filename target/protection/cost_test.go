package protection_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/protection"
)

// TestCostLaw holds the waits up to which a cost is let in: with a setpoint of 1 s,
// load is the number of those that wait, in thousands.
func TestCostLaw(t *testing.T) {
	for _, tt := range []struct {
		cost  float64
		knobs map[string]any
		last  time.Duration // longest wait at which it is let in
	}{
		{1, nil, 750 * ms},
		{10, nil, 545 * ms},  // (1 + 5) / 11
		{0.1, nil, 954 * ms}, // 1.05 / 1.1
		{1e9, nil, 500 * ms},
		{1e-9, nil, 999 * ms},
		{3, map[string]any{"from": 0.25}, 437 * ms}, // 1.75 / 4
		{8, map[string]any{"ordinary": 8.0}, 750 * ms},
		{1, map[string]any{"from": 0.0}, 500 * ms},
	} {
		t.Run(fmt.Sprint(tt.cost, tt.knobs), func(t *testing.T) {
			knobs := map[string]any{"setpoint": time.Second}
			for k, v := range tt.knobs {
				knobs[k] = v
			}
			p := must(t, "cost", knobs)
			last := time.Duration(-1)
			for queue := range 1200 {
				l := protection.Load{Waiting: queue, QueuedCost: float64(queue), CostRate: 1000}
				if p.Admit(0, &protection.Request{Cost: tt.cost}, l) == "" {
					last = time.Duration(queue) * ms
				}
			}
			if last != tt.last {
				t.Errorf("let in up to a wait of %v, want %v", last, tt.last)
			}
		})
	}
}

// TestCostShedsTheDearestFirst holds that who is let in at a load is let in at a
// lighter one, and so is who costs less.
func TestCostShedsTheDearestFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := must(t, "cost", map[string]any{"from": rapid.Float64Range(0, 0.99).Draw(rt, "from")})
		let := func(cost float64, queue int) bool {
			l := protection.Load{Waiting: queue, QueuedCost: float64(queue), CostRate: 1000}
			return p.Admit(0, &protection.Request{Cost: cost}, l) == ""
		}
		cost := rapid.Float64Range(0.01, 100).Draw(rt, "cost")
		queue := rapid.IntRange(0, 150).Draw(rt, "queue")
		if !let(cost, queue) {
			return
		}
		if less := cost * rapid.Float64Range(0.01, 1).Draw(rt, "less"); !let(less, queue) {
			rt.Errorf("lets in cost %v and refuses %v", cost, less)
		}
		if shorter := rapid.IntRange(0, queue).Draw(rt, "shorter"); !let(cost, shorter) {
			rt.Errorf("lets in cost %v with %d waiting and refuses it with %d", cost, queue, shorter)
		}
	})
}
