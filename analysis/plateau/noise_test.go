package plateau_test

import (
	"math/rand/v2"
	"testing"

	"knee/analysis/knee"
	"knee/analysis/plateau"
)

// TestSymmetricNoise: goodput that scatters to both sides, above the load too,
// as in curves that are measured by other means.
func TestSymmetricNoise(t *testing.T) {
	for name, c := range map[string]struct {
		f       func(float64) float64
		noise   float64
		verdict string
		near    float64 // share of knees within 10 %
		judged  float64 // share of right verdicts
	}{
		"hinge, 3 %":       {hinge(500), 0.03, plateau.Plateau, 0.97, 0.9},
		"hinge, 5 %":       {hinge(500), 0.05, plateau.Plateau, 0.9, 0.8},
		"hinge, 8 %":       {hinge(500), 0.08, plateau.Plateau, 0.7, 0.6},
		"costly no, 3 %":   {rejecting(500, 0.1), 0.03, plateau.Collapse, 0.95, 0.95},
		"decline, 3 %":     {rejecting(500, 0.03), 0.03, plateau.Decline, 0.95, 0.9},
		"no knee, 3 %":     {func(l float64) float64 { return l }, 0.03, knee.NoKnee, 0, 0.9},
		"below range, 5 %": {hinge(30), 0.05, knee.BelowRange, 0, 0.98},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 400
			near, judged := 0, 0
			verdicts := map[string]int{}
			for seed := range runs {
				r := rand.New(rand.NewPCG(uint64(seed), 3))
				points := along(usualGrid, 500, func(l float64) float64 { return c.f(l) * (1 + c.noise*r.NormFloat64()) })
				k, p := judge(points)
				if k.RPS > 450 && k.RPS < 550 {
					near++
				}
				if p.Verdict == c.verdict {
					judged++
				}
				verdicts[p.Verdict]++
			}
			if float64(near) < c.near*runs || float64(judged) < c.judged*runs {
				t.Errorf("%.3f near and %.3f right, want %.2f and %.2f: %v", float64(near)/runs, float64(judged)/runs, c.near, c.judged, verdicts)
			}
		})
	}
}
