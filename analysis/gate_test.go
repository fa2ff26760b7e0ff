package analysis

import (
	"strings"
	"testing"
	"time"

	"knee/analysis/paired"
)

// compared returns a run of so many blocks in which the candidate's goodput at 0.95x and
// at 10x is so much of what is offered.
func compared(blocks int, candidate float64, change func(stretches []stretch, m *Meta)) *Result {
	m := Meta{Run: Run{Clock: Virtual}, Timeout: timeout, CapacityRPS: 100, Pair: &Pair{KneeRPS: 100, PerBuild: 2, Voids: map[int]string{}}}
	var all []stretch
	for block := range blocks {
		for _, is := range []bool{false, true} {
			share := 1.0
			if is {
				share = candidate
			}
			for _, s := range []stretch{
				{phase: Probe, rate: 95, length: 2 * time.Second, good: share},
				{phase: Probe, rate: 1000, length: time.Second, good: 0.1 * share},
			} {
				s.trial = len(all)
				m.Pair.Trials = append(m.Pair.Trials, PairTrial{Trial: s.trial, Block: block, Candidate: is})
				all = append(all, s)
			}
		}
	}
	if change != nil {
		change(all, &m)
	}
	return Analyze(madeUp(all...), m)
}

func TestTwoBuildsAreCompared(t *testing.T) {
	verdicts := func(r *Result) string {
		var all []string
		for _, m := range r.Gate.Metrics {
			all = append(all, m.Verdict)
		}
		return strings.Join(all, " ")
	}
	same := compared(7, 1, nil)
	if got := verdicts(same); got != "pass pass pass not_tested not_tested not_tested" {
		t.Errorf("the same: %s", got)
	}
	if m := same.Gate.Metrics[1]; *m.Baseline != 100 || *m.Candidate != 100 || *m.Change != 0 || m.Blocks != 7 {
		t.Errorf("goodput at 10x: %+v, want 100 of both in 7 blocks", m)
	}
	if len(same.Plateau.Retention) > 0 || same.Knee.RPS != nil {
		t.Error("loads of two builds make one curve")
	}
	if got := verdicts(compared(14, 0.8, nil)); got != "fail fail fail not_tested not_tested not_tested" {
		t.Errorf("a fifth less: %s", got)
	}
}

// A block counts when it is whole, on a machine that was not disturbed, under loads
// that were really offered.
func TestBlocksThatDoNotCount(t *testing.T) {
	cut := compared(7, 1, func(_ []stretch, m *Meta) { m.Pair.Trials = m.Pair.Trials[:len(m.Pair.Trials)-1] })
	if cut.Gate.Blocks != 6 || cut.Gate.Metrics[0].Verdict != paired.Inconclusive {
		t.Errorf("%d blocks, %s; want 6, inconclusive", cut.Gate.Blocks, cut.Gate.Metrics[0].Verdict)
	}
	void := compared(7, 1, func(_ []stretch, m *Meta) { m.Pair.Voids[2] = "the machine was off" })
	if n := void.Gate.Metrics[0].Blocks; void.Gate.Blocks != 7 || n != 6 || len(void.Gate.Void) != 1 {
		t.Errorf("%d blocks, %d that say something, void %v; want 7, 6, one", void.Gate.Blocks, n, void.Gate.Void)
	}
	limited := compared(7, 1, func(all []stretch, m *Meta) {
		m.Run.Clock = Wall
		all[4].unsent, all[4].good = 0.5, 0.5
	})
	if n := limited.Gate.Metrics[0].Blocks; n != 6 || !strings.Contains(strings.Join(limited.Gate.Void, " "), "95/s: generator limited") {
		t.Errorf("%d blocks say something, void %v; want 6, and the load that was not offered", n, limited.Gate.Void)
	}
}
