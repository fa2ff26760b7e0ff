package report

import (
	"knee/analysis"
)

func some[T any](v T) *T { return &v }

// step returns a valid step of 2 s at a load of which these counts became.
func step(load float64, c analysis.Counts) analysis.Step {
	c.Planned = c.Unsent + c.Withheld + c.Good + c.Late + c.Rejected + c.Timeout + c.Failed + c.Unfinished
	c.Sent = c.Planned - c.Unsent - c.Withheld
	c.Attempts = c.Sent
	s := analysis.Step{
		IntendedRPS: load, LoadX: some(load / 1000), DurationS: 2, Phase: "sweep", Counts: c, Valid: true,
		OfferedRPS: float64(c.Sent+c.Withheld) / 2, GoodputRPS: float64(c.Good) / 2, ThroughputRPS: float64(c.Good+c.Late) / 2,
	}
	if c.Good > 0 {
		s.ResponseMS = analysis.Latency{P50: some(11.25), P90: some(30.5), P99: some(48.75), Max: some(60.0), Count: int64(c.Good)}
	}
	if c.Rejected > 0 {
		s.RejectedByReason = map[string]uint64{"queue_full": c.Rejected - c.Rejected/4, "codel": c.Rejected / 4}
	}
	return s
}

func base() *analysis.Result {
	return &analysis.Result{
		Schema: analysis.Schema,
		Run: analysis.Run{
			ID: "surge-1", Command: "find", Clock: "virtual", Seed: 1, DurationS: 84.5, Version: "0.1.0",
			Repeat: "knee find surge --virtual --seed 1",
		},
		Profile:       map[string]any{"name": "surge"},
		Capacity:      analysis.Capacity{RPS: some(1000.0), Source: "declared"},
		Recovery:      analysis.Recovery{Verdict: "not_tested"},
		Metastability: analysis.Metastability{Verdict: "not_tested"},
		Rejection:     analysis.Rejection{Verdict: "not_tested"},
		Generator:     analysis.Generator{Verdict: "ok"},
		Verdict:       "pass",
	}
}

// results are runs of every kind that a reader meets.
func results() map[string]*analysis.Result {
	return map[string]*analysis.Result{
		"plateau":    plateauResult(),
		"collapse":   collapseResult(),
		"no-knee":    noKneeResult(),
		"all-failed": allFailedResult(),
		"empty":      {Schema: analysis.Schema},
	}
}

func plateauResult() *analysis.Result {
	r := base()
	for _, load := range []float64{250, 375, 562.5, 843.75} {
		for _, off := range []uint64{0, 20, 5} {
			r.Steps = append(r.Steps, step(load, analysis.Counts{Good: uint64(load*2) + off}))
		}
	}
	for _, load := range []float64{1265.625, 1898.4375, 2847.65625, 4271.484375, 6407.2265625, 10000} {
		for _, off := range []uint64{0, 30, 10} {
			r.Steps = append(r.Steps, step(load, analysis.Counts{Good: 1940 + off, Rejected: uint64(load*2) - 1940, Late: 7}))
		}
	}
	settle := step(843.75, analysis.Counts{Late: 5000})
	settle.Phase, settle.Valid, settle.Why = analysis.Settle, false, "not measured: settle"
	r.Steps = append(r.Steps, settle)
	for _, phase := range []string{analysis.Base, analysis.Spike, analysis.After} {
		s := step(map[string]float64{analysis.Base: 700, analysis.Spike: 3000, analysis.After: 700}[phase], analysis.Counts{Good: 1400})
		s.Phase = phase
		r.Steps = append(r.Steps, s)
	}
	r.Knee = analysis.Knee{
		Verdict: "found", RPS: some(978.4), LowRPS: some(843.75), HighRPS: some(1012.0), X: some(0.9784), Certified: true,
		SaturationRPS: some(1265.6), Flags: []string{"soft"},
	}
	r.Plateau = analysis.Plateau{Verdict: "plateau", MinRetention: some(0.968), TestedToX: some(10.22), Retention: []analysis.Retention{{X: 10.22, Retention: 0.968}}}
	r.Recovery = analysis.Recovery{Verdict: "recovered", MedianS: some(1.2), LowS: some(0.8), HighS: some(1.6), Spikes: 6, LostGood: some(420.3)}
	r.Rejection = analysis.Rejection{Verdict: "measured", Q: some(0.0021), QLow: some(0.0012), QHigh: some(0.0031), CollapseRPS: some(466000.0)}
	r.Reconciliation.Matched = some(true)
	r.Checks = []analysis.Check{
		{Name: "plateau >= 0.9", Want: ">= 0.9", Got: "0.968", Verdict: "pass"},
		{Name: "knee >= 0.9x", Want: ">= 0.9x", Got: "0.98x", Verdict: "pass"},
	}
	return r
}

func collapseResult() *analysis.Result {
	r := base()
	r.Run.Clock = "wall"
	for _, load := range []float64{250, 500, 1000} {
		r.Steps = append(r.Steps, step(load, analysis.Counts{Good: uint64(load * 2)}))
	}
	r.Steps = append(r.Steps,
		step(2000, analysis.Counts{Good: 300, Late: 3600, Timeout: 80, Failed: 20}),
		step(4000, analysis.Counts{Good: 2, Late: 7000, Timeout: 900, Rejected: 98}),
	)
	limited := step(8000, analysis.Counts{Good: 1, Late: 1000, Unsent: 14999})
	limited.Valid, limited.Why = false, "generator limited: 93.7% unsent (in_flight)"
	half := step(1000, analysis.Counts{Good: 10})
	half.Valid, half.Why = false, "cut short: 5 unfinished"
	r.Steps = append(r.Steps, limited, half)
	r.Knee = analysis.Knee{Verdict: "found", RPS: some(1000.0), LowRPS: some(1000.0), HighRPS: some(2000.0), X: some(1.0)}
	r.Plateau = analysis.Plateau{Verdict: "collapse", MinRetention: some(0.001), TestedToX: some(4.0), CollapseRPS: some(2000.0)}
	r.Recovery = analysis.Recovery{Verdict: "not_recovered", Spikes: 3, Why: "goodput stayed below half of the base load"}
	r.Metastability = analysis.Metastability{Verdict: "metastable", Stuck: some(3), Triggers: some(3), ShareLow: some(0.29), ShareHigh: some(1.0), StableThresholdRPS: some(640.0)}
	r.Generator = analysis.Generator{Verdict: "limited", Why: "1 of 7 steps could not be offered, from 8000/s on", Evidence: []string{"1 of 7 steps could not be offered, from 8000/s on", "at 8000/s the garbage collector stopped the generator for up to 12.0 ms"}, LagP99MS: some(0.31), CeilingRPS: some(61000.0), CPUShare: some(0.43)}
	r.Reconciliation = analysis.Reconciliation{Matched: some(false), Differences: []string{"the server counts 3 more late than the clients", "2 rejections (queue_full) have no answer"}}
	r.Checks = []analysis.Check{
		{Name: "plateau >= 0.9", Want: ">= 0.9", Got: "0.00", Verdict: "fail"},
		{Name: "good.p99 <= 80ms at 8x", Want: "<= 80ms", Verdict: "inconclusive", Why: "the load of 8000/s was not reached by the generator"},
	}
	r.Verdict = "fail"
	r.Warnings = []string{"step 4 (sweep): the backlog rose throughout, so that the goodput of a longer step would be lower than the one that was measured"}
	return r
}

func noKneeResult() *analysis.Result {
	r := base()
	r.Profile = struct{ Name string }{"idle"}
	for _, load := range []float64{0.5, 1, 2} {
		r.Steps = append(r.Steps, step(load, analysis.Counts{Good: uint64(load * 2), Degraded: 1}))
	}
	r.Knee = analysis.Knee{Verdict: "no_knee", LowRPS: some(2.0), Why: "every load up to 2 is good"}
	r.Plateau = analysis.Plateau{Verdict: "no_knee", Why: "every load up to 2 is good"}
	r.Verdict = ""
	return r
}

func allFailedResult() *analysis.Result {
	r := base()
	r.Profile = nil
	r.Capacity = analysis.Capacity{}
	for _, load := range []float64{100, 200} {
		s := step(load, analysis.Counts{Failed: uint64(load * 2)})
		s.FailedByKind = map[string]uint64{"refused": uint64(load * 2)}
		s.LoadX = nil
		r.Steps = append(r.Steps, s)
	}
	r.Knee = analysis.Knee{Verdict: "no_goodput", Why: "nothing succeeded at any load"}
	r.Plateau = analysis.Plateau{Verdict: "no_goodput", Why: "nothing succeeded at any load"}
	r.Verdict = "fail"
	return r
}
