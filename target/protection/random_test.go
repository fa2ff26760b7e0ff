package protection_test

import (
	"math"
	"testing"
	"time"

	"knee/target/protection"
)

// offer has p see offered requests a second, of which a part is protected, evenly
// for d from from on, and returns which shares of the second half it refused.
func offer(p protection.Protection, from, d time.Duration, offered int, protectedPart float64, l protection.Load) (plain, protected float64) {
	n := int(d.Seconds() * float64(offered))
	var seen, refused [2]float64
	due := 0.0
	for i := range n {
		now := from + time.Duration(i)*time.Second/time.Duration(offered)
		kind := 0
		if due += protectedPart; due >= 1 {
			due--
			kind = 1
		}
		no := p.Admit(now, &protection.Request{Cost: 1, Protected: kind == 1}, l) != ""
		if i >= n/2 {
			seen[kind]++
			if no {
				refused[kind]++
			}
		}
	}
	return refused[0] / max(1, seen[0]), refused[1] / max(1, seen[1])
}

func TestRandomShare(t *testing.T) {
	full := protection.Load{Workers: 100, Running: 100, CostRate: 2000}
	for _, tt := range []struct {
		name      string
		knobs     map[string]any
		offered   int
		protected float64
		want      float64
	}{
		{"2400 of a measured 2000", map[string]any{"fill": 1.0}, 2400, 0, 1 - 2000.0/2400},
		{"2400 of a declared 1200", map[string]any{"fill": 1.0, "capacity": 1200.0}, 2400, 0, 0.5},
		{"just below capacity", map[string]any{"fill": 1.0}, 1950, 0, 0},
		{"far below capacity", map[string]any{"fill": 1.0}, 1500, 0, 0},
		{"ten times capacity", map[string]any{"fill": 1.0}, 20_000, 0, 0.9},
		{"nine tenths filled", nil, 2400, 0, 1 - 1800.0/2400},
		{"a long window", map[string]any{"fill": 1.0, "window": 2 * time.Second}, 2400, 0, 1 - 2000.0/2400},
		{"others make up for the protected", map[string]any{"fill": 1.0}, 2400, 0.5, 400.0 / 1200},
		{"the protected alone are too many", map[string]any{"fill": 1.0}, 5000, 0.5, 1},
		{"a fixed share", map[string]any{"share": 0.25}, 100, 0, 0.25},
		{"a fixed share of all", map[string]any{"share": 1.0}, 100, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, protected := offer(must(t, "random", tt.knobs), time.Minute, 20*time.Second, tt.offered, tt.protected, full)
			n := float64(tt.offered) * 10 * (1 - tt.protected)
			if tol := 0.005 + 4*math.Sqrt(tt.want*(1-tt.want)/n); math.Abs(got-tt.want) > tol {
				t.Errorf("refused %.4f, want %.4f", got, tt.want)
			}
			if protected != 0 {
				t.Errorf("%.4f of the protected were refused", protected)
			}
		})
	}
}

// TestRandomForgets holds that a load is forgotten once it is a window ago, and is
// not foreseen.
func TestRandomForgets(t *testing.T) {
	full := protection.Load{Workers: 100, CostRate: 2000}
	p := must(t, "random", map[string]any{"fill": 1.0})
	if got, _ := offer(p, 0, 10*ms, 20_000, 0, full); got != 0 {
		t.Errorf("refused %.3f in the first tenth of a window: 200 requests are not a load yet", got)
	}
	offer(p, 10*ms, time.Second, 20_000, 0, full)
	if got, _ := offer(p, 1010*ms, 220*ms, 1000, 0, full); got != 0 {
		t.Errorf("refused %.3f, a window after the load has gone", got)
	}
}

func TestRandomCountsCost(t *testing.T) {
	p := must(t, "random", map[string]any{"capacity": 1000.0, "fill": 1.0})
	refused := 0
	for i := range 20_000 { // 500/s of cost 4
		if p.Admit(time.Duration(i)*2*ms, &protection.Request{Cost: 4}, protection.Load{}) != "" {
			refused++
		}
	}
	if share := float64(refused) / 20_000; math.Abs(share-0.5) > 0.02 {
		t.Errorf("refused %.3f, want half", share)
	}
}
