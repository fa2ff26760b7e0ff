package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/analysis"
)

func ptr(v float64) *float64 { return &v }

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// step is one second at a rate, with what share of it was good.
func step(rps, good float64) analysis.Step {
	return analysis.Step{
		IntendedRPS: rps, OfferedRPS: rps, DurationS: 1, Phase: "sweep", Valid: true,
		Counts:     analysis.Counts{Planned: uint64(rps), Sent: uint64(rps), Good: uint64(rps * good), Rejected: uint64(rps) - uint64(rps*good), Attempts: uint64(rps)},
		GoodputRPS: rps * good,
	}
}

// quick gives s latencies of good requests.
func quick(s analysis.Step, count int64, p50, p99 float64) analysis.Step {
	s.ResponseMS = analysis.Latency{P50: ptr(p50), Count: count}
	if count >= 299 {
		s.ResponseMS.P99 = ptr(p99)
	}
	return s
}

func invalidated(s analysis.Step, why string) analysis.Step {
	s.Valid, s.Why = false, why
	return s
}

func labelled(s analysis.Step, phase string) analysis.Step {
	s.Phase = phase
	return s
}

func knee(verdict string, rps, low, high float64) analysis.Knee {
	k := analysis.Knee{Verdict: verdict}
	for _, v := range []struct {
		to **float64
		is float64
	}{{&k.RPS, rps}, {&k.LowRPS, low}, {&k.HighRPS, high}} {
		if v.is > 0 {
			*v.to = ptr(v.is)
		}
	}
	return k
}

func plateau(verdict string, least, to float64) analysis.Plateau {
	p := analysis.Plateau{Verdict: verdict, TestedToX: ptr(to)}
	if least >= 0 {
		p.MinRetention = ptr(least)
	}
	return p
}

func TestJudge(t *testing.T) {
	capacity := analysis.Capacity{RPS: ptr(1000), Source: "declared"}
	plain := analysis.Result{
		Capacity: capacity,
		Knee:     knee("found", 950, 900, 1000),
		Plateau:  plateau("plateau", 0.95, 10.2),
		Steps:    []analysis.Step{step(500, 1), step(2000, 0.45), step(2000, 0.5)},
	}
	steps := func(s ...analysis.Step) analysis.Result { return analysis.Result{Capacity: capacity, Steps: s} }
	withKnee := func(k analysis.Knee) analysis.Result {
		return analysis.Result{Capacity: capacity, Knee: k, Steps: []analysis.Step{step(250, 1), step(5000, 1), invalidated(step(9000, 1), "")}}
	}
	withPlateau := func(p analysis.Plateau) analysis.Result {
		return analysis.Result{Capacity: capacity, Plateau: p, Knee: knee("found", 950, 0, 0)}
	}
	withRecovery := func(r analysis.Recovery) analysis.Result { return analysis.Result{Recovery: r} }
	latencies := func(s ...analysis.Step) analysis.Result { return steps(s...) }
	classes := steps(step(2000, 0.5))
	classes.Steps[0].ByClass = map[string]analysis.Class{
		"a": {Counts: analysis.Counts{Planned: 200, Good: 190}, ResponseMS: analysis.Latency{P50: ptr(12), Count: 190}},
		"b": {Counts: analysis.Counts{Planned: 1800, Good: 810}},
	}
	retention := withPlateau(plateau("decline", 0.6, 10))
	retention.Plateau.Retention = []analysis.Retention{{X: 2, Retention: 0.97}, {X: 5, Retention: 0.8}, {X: 5.1, Retention: 0.78}, {X: 10, Retention: 0.6}}
	called := func(s analysis.Step, name, phase string) analysis.Step {
		s.Name, s.Phase = name, phase
		return s
	}
	phases := steps(
		called(step(2000, 0.25), "", "spike"), called(step(9000, 1), "spiky", "hold"),
		called(step(1000, 1), "flood", "hold"), called(step(2000, 0.25), "flood", "spike"),
		called(quick(step(500, 1), 500, 20, 75), "after", "hold"), called(classes.Steps[0], "classes", "hold"),
		called(step(250, 1), "", "ramp"), called(step(250, 1), "", "settle"), called(invalidated(step(250, 1), "lag"), "bad", "hold"),
	)
	rejects := func(count int64) analysis.Step {
		s := step(2000, 0.5)
		s.RejectMS = analysis.Latency{Count: count, P50: ptr(0.5)}
		if count >= 299 {
			s.RejectMS.P99 = ptr(2)
		}
		return s
	}

	for _, c := range []struct {
		name, check string
		r           analysis.Result
		verdict     string
		got         string // "" is not looked at
		why         string // a part
	}{
		{"plateau holds", "plateau >= 0.9", plain, Pass, "0.95", ""},
		{"plateau as a percentage", "plateau >= 90%", plain, Pass, "95%", ""},
		{"plateau does not hold", "plateau >= 0.9", withPlateau(plateau("decline", 0.71, 10)), Fail, "0.71", ""},
		{"plateau exactly at the limit", "plateau >= 0.71", withPlateau(plateau("decline", 0.71, 10)), Pass, "0.71", ""},
		{"plateau not exactly", "plateau > 0.71", withPlateau(plateau("decline", 0.71, 10)), Fail, "", ""},
		{"plateau tested just far enough", "plateau >= 0.9", withPlateau(plateau("plateau", 0.95, 9.8)), Pass, "0.95", ""},
		{"plateau not tested far enough", "plateau >= 0.9", withPlateau(plateau("range_short", 0.95, 9.7)), Inconclusive, "at most 0.95", "tested to 9.7x of the knee only"},
		{"a decline is one however far was tested", "plateau >= 0.9", withPlateau(plateau("range_short", 0.4, 3)), Fail, "", ""},
		{"a collapse was expected and not seen", "plateau < 0.5", withPlateau(plateau("range_short", 0.95, 3)), Inconclusive, "", "tested to 3x"},
		{"a collapse was expected and seen", "plateau < 0.5", withPlateau(plateau("collapse", 0.1, 3)), Pass, "", ""},
		{"a collapse was expected and refuted", "plateau < 0.5", withPlateau(plateau("plateau", 0.95, 10)), Fail, "", ""},
		{"plateau of a limited generator", "plateau >= 0.9", withPlateau(plateau("generator_limited", 0.95, 4)), Inconclusive, "", "tested to 4x"},
		{"plateau of a limited generator after a decline", "plateau >= 0.9", withPlateau(plateau("generator_limited", 0.5, 4)), Fail, "", ""},
		{"plateau not judged", "plateau >= 0.9", withPlateau(plateau("generator_limited", -1, 1)), Inconclusive, "-", "generator_limited"},
		{"plateau without a knee", "plateau >= 0.9", withPlateau(analysis.Plateau{Verdict: "no_knee", Why: "no knee to 500/s"}), Inconclusive, "-", "no_knee: no knee to 500/s"},
		{"plateau too noisy", "plateau >= 0.9", withPlateau(plateau("inconclusive", 0.2, 10)), Inconclusive, "-", "inconclusive"},
		{"plateau of nothing", "plateau >= 0.9", analysis.Result{}, Inconclusive, "-", "not answered"},
		{"plateau without goodput", "plateau < 0.5", withPlateau(analysis.Plateau{Verdict: "no_goodput"}), Fail, "-", "no samples"},
		{"plateau at a load", "plateau >= 0.8 at 5x", retention, Fail, "0.78", ""},
		{"plateau at another load", "plateau >= 0.9 at 2x", retention, Pass, "0.97", ""},
		{"plateau at a rate", "plateau >= 0.9 at 1900/s", retention, Pass, "0.97", ""},
		{"plateau at a load that was not offered", "plateau >= 0.9 at 7x", retention, Inconclusive, "-", "no load within 3% of 7x"},

		{"knee in x", "knee >= 0.9x", plain, Pass, "0.95x", ""},
		{"a hair below the limit", "plateau >= 0.9", withPlateau(plateau("decline", 0.899999, 10)), Fail, "0.899999", ""},
		{"knee as a rate", "knee >= 900/s", plain, Pass, "950/s", ""},
		{"knee below the limit", "knee >= 1100/s", plain, Fail, "950/s", ""},
		{"knee whose interval holds the limit", "knee >= 940/s", plain, Pass, "950/s", "decided by the point value; the limit lies within its interval, 900/s to 1000/s"},
		{"knee whose interval holds the limit, failing", "knee >= 960/s", plain, Fail, "950/s", "decided by the point value"},
		{"knee beyond the range", "knee >= 4000/s", withKnee(knee("no_knee", 0, 0, 0)), Pass, "at least 5000/s", ""},
		{"knee beyond the range and the limit too", "knee >= 6000/s", withKnee(knee("no_knee", 0, 0, 0)), Inconclusive, "", "no_knee"},
		{"knee beyond the range with a bound", "knee >= 4000/s", withKnee(knee("no_knee", 0, 3500, 0)), Inconclusive, "at least 3500/s", "no_knee"},
		{"knee beyond the range, at most", "knee <= 4000/s", withKnee(knee("no_knee", 0, 0, 0)), Fail, "", ""},
		{"knee below the range", "knee >= 300/s", withKnee(knee("below_range", 0, 0, 0)), Fail, "at most 250/s", ""},
		{"knee below the range and the limit too", "knee >= 200/s", withKnee(knee("below_range", 0, 0, 0)), Inconclusive, "", "below_range"},
		{"no goodput is no knee", "knee <= 5/s", withKnee(knee("no_goodput", 0, 0, 0)), Fail, "-", "no samples"},
		{"knee of a limited generator", "knee >= 5/s", withKnee(knee("generator_limited", 0, 0, 0)), Inconclusive, "-", "generator_limited"},
		{"knee of few samples", "knee >= 5/s", withKnee(knee("insufficient", 0, 0, 0)), Inconclusive, "-", "insufficient"},
		{"knee in x without a capacity", "knee >= 0.9x", analysis.Result{Knee: knee("found", 950, 0, 0)}, Inconclusive, "-", "capacity"},
		{"knee of a class", "knee{class=a} >= 0.5x", analysis.Result{Capacity: capacity, Knee: analysis.Knee{Verdict: "found", ByClass: map[string]analysis.Knee{"a": knee("found", 400, 0, 0)}}}, Fail, "0.4x", ""},
		{"knee of no such class", "knee{class=b} >= 0.5x", plain, Inconclusive, "-", "class b"},

		{"recovery", "recovery <= 2s", withRecovery(analysis.Recovery{Verdict: "recovered", MedianS: ptr(0.4)}), Pass, "400ms", ""},
		{"recovery too long", "recovery <= 2s", withRecovery(analysis.Recovery{Verdict: "recovered", MedianS: ptr(2.2), LowS: ptr(1.8), HighS: ptr(3)}), Fail, "2.2s", "decided by the point value; the limit lies within its interval, 1.8s to 3s"},
		{"recovery at once", "recovery <= 2s", withRecovery(analysis.Recovery{Verdict: "recovered", MedianS: ptr(0)}), Pass, "0s", ""},
		{"no recovery", "recovery <= 2s", withRecovery(analysis.Recovery{Verdict: "not_recovered", Why: "goodput 0"}), Fail, "never", "goodput 0"},
		{"slow recovery", "recovery <= 2s", withRecovery(analysis.Recovery{Verdict: "slow", ProjectionS: ptr(90)}), Fail, "1m30s", "projected"},
		{"no spike", "recovery <= 2s", withRecovery(analysis.Recovery{Verdict: "not_tested"}), Inconclusive, "-", "not_tested"},
		{"recovery unclear", "recovery <= 2s", withRecovery(analysis.Recovery{Verdict: "inconclusive", Why: "base load not healthy"}), Inconclusive, "-", "base load not healthy"},

		{"rejection", "rejection.q <= 1%", analysis.Result{Rejection: analysis.Rejection{Verdict: "measured", Q: ptr(0.005), QLow: ptr(0.003), QHigh: ptr(0.008)}}, Pass, "0.5%", ""},
		{"rejection too dear", "rejection.q <= 0.01", analysis.Result{Rejection: analysis.Rejection{Verdict: "measured", Q: ptr(0.05)}}, Fail, "0.05", ""},
		{"rejection not tested", "rejection.q <= 0.01", analysis.Result{Rejection: analysis.Rejection{Verdict: "not_tested"}}, Inconclusive, "-", "not_tested"},

		{"count", "failed == 0", plain, Pass, "0", ""},
		{"count of the run", "rejected <= 2100", plain, Pass, "2100", ""},
		{"count of the run, failing", "rejected < 2100", plain, Fail, "2100", ""},
		{"share of the run", "good >= 54%", plain, Fail, "53.33%", ""},
		{"count at a load, over trials", "good == 1900 at 2x", plain, Pass, "1900", ""},
		{"share at a load", "rejected <= 55% at 2x", plain, Pass, "52.5%", ""},
		{"count by class", "good{class=a} >= 95% at 2x", classes, Pass, "95%", ""},
		{"count of no such class", "good{class=c} >= 0", classes, Fail, "-", "no samples"},
		{"count with a doubtful step", "failed == 0", steps(step(500, 1), invalidated(step(2000, 1), "generator limited: 5% unsent")), Inconclusive, "", "load 2000/s was not honestly offered: generator limited: 5% unsent"},
		{"count that a doubtful step cannot mend", "rejected == 0", steps(step(500, 0.5), invalidated(step(2000, 1), "")), Fail, "", ""},
		{"count that a doubtful step cannot spoil", "good >= 400", steps(step(500, 1), invalidated(step(2000, 1), "")), Pass, "at least 500", ""},
		{"unsent is known in spite of doubt", "unsent == 0", steps(invalidated(analysis.Step{IntendedRPS: 5, Counts: analysis.Counts{Planned: 9, Unsent: 9}}, "limited")), Fail, "9", ""},
		{"settling is not measured", "rejected == 0", steps(step(500, 1), invalidated(labelled(step(2000, 0.2), "settle"), "not measured: settle")), Pass, "0", ""},
		{"count of nothing", "failed == 0", steps(), Fail, "-", "no samples"},
		{"count of no arrivals", "failed == 0 at 2x", steps(invalidated(step(2000, 0), "")), Inconclusive, "-", "not honestly offered"},
		{"step without arrivals", "failed == 0 at 0.001x", steps(invalidated(analysis.Step{IntendedRPS: 1, Phase: "hold"}, "no arrivals")), Fail, "-", "no samples"},

		{"goodput at a load", "goodput >= 950/s at 2x", plain, Pass, "950/s", ""},
		{"goodput in x", "goodput >= 0.96x at 2000/s", plain, Fail, "0.95x", ""},
		{"goodput within 3%", "goodput >= 900 at 2.06x", plain, Pass, "950/s", ""},
		{"goodput at a load not reached", "goodput >= 900 at 2.07x", plain, Inconclusive, "-", "load 2.07x was not reached: the nearest is 2x"},
		{"goodput at a load without any", "goodput >= 900 at 2x", steps(), Inconclusive, "-", "load 2x was not reached"},
		{"goodput at x without a capacity", "goodput >= 900 at 2x", analysis.Result{Steps: plain.Steps}, Inconclusive, "-", "capacity"},
		{"goodput at every load", "goodput >= 400/s", plain, Pass, "500/s", "at 500/s"},
		{"goodput at every load, failing", "goodput >= 600/s", plain, Fail, "500/s", "at 500/s"},
		{"goodput of a ramp is no load", "goodput >= 900 at 2x", steps(labelled(step(2000, 0), "ramp")), Inconclusive, "-", "not reached"},
		{"goodput not honestly offered", "goodput >= 900 at 2x", steps(invalidated(step(2000, 0.2), "lag")), Inconclusive, "-", "load 2000/s was not honestly offered: lag"},
		{"goodput with one honest trial", "goodput >= 900 at 2x", steps(invalidated(step(2000, 0), "lag"), step(2000, 0.5)), Pass, "1000/s", ""},
		{"goodput by class", "goodput{class=b} >= 800 at 2x", classes, Pass, "810/s", ""},
		{"goodput of nothing is a number", "goodput >= 1 at 2x", steps(step(2000, 0)), Fail, "0/s", ""},

		{"latency", "good.p99 <= 80ms at 2x", latencies(quick(step(2000, 0.5), 1000, 20, 75.5)), Pass, "75.5ms", ""},
		{"latency too long", "good.p99 <= 75ms at 2x", latencies(quick(step(2000, 0.5), 1000, 20, 75.5)), Fail, "75.5ms", ""},
		{"latency at a load not reached", "good.p99 <= 80ms at 5x", latencies(quick(step(2000, 0.5), 1000, 20, 75)), Inconclusive, "-", "load 5x was not reached: the nearest is 2x"},
		{"latency of too few", "good.p99 <= 80ms at 2x", latencies(quick(step(2000, 0.1), 298, 20, 1)), Inconclusive, "-", "too few samples for p99: 298, and it takes 299 in one trial"},
		{"a lower quantile of as few", "good.p50 <= 80ms at 2x", latencies(quick(step(2000, 0.1), 298, 20, 1)), Pass, "20ms", ""},
		{"latency of none", "good.p99 <= 80ms at 2x", steps(step(2000, 0)), Fail, "-", "no samples: nothing was good"},
		{"latency of none, not honestly offered", "good.p99 <= 80ms at 2x", steps(invalidated(step(2000, 0), "lag")), Inconclusive, "-", "lag"},
		{"trials agree", "good.p99 <= 80ms at 2x", latencies(quick(step(2000, 1), 500, 9, 70), quick(step(2010, 1), 500, 9, 79)), Pass, "70ms to 79ms", ""},
		{"trials agree that it is too long", "good.p99 <= 60ms at 2x", latencies(quick(step(2000, 1), 500, 9, 70), quick(step(2010, 1), 500, 9, 79)), Fail, "70ms to 79ms", ""},
		{"trials disagree", "good.p99 <= 75ms at 2x", latencies(quick(step(2000, 1), 500, 9, 70), quick(step(2010, 1), 500, 9, 79)), Inconclusive, "70ms to 79ms", "the trials disagree"},
		{"latency at every load", "good.p99 <= 80ms", latencies(quick(step(500, 1), 500, 9, 30), quick(step(2000, 1), 500, 9, 79)), Pass, "79ms", "at 2000/s"},
		{"latency at every load, failing at one", "good.p99 <= 70ms", latencies(quick(step(500, 1), 500, 9, 30), quick(step(2000, 1), 500, 9, 79)), Fail, "79ms", "at 2000/s"},
		{"fail outranks inconclusive", "good.p99 <= 70ms", latencies(quick(step(500, 1), 5, 9, 30), quick(step(2000, 1), 500, 9, 79)), Fail, "79ms", "at 2000/s"},
		{"inconclusive outranks pass", "good.p99 <= 80ms", latencies(quick(step(500, 1), 5, 9, 30), quick(step(2000, 1), 500, 9, 79)), Inconclusive, "-", "at 500/s: too few samples"},
		{"a load without good answers fails", "good.p99 <= 80ms", latencies(quick(step(500, 1), 500, 9, 30), step(5000, 0)), Fail, "-", "at 5000/s: no samples"},
		{"latency by class", "good.p50{class=a} <= 15ms at 2x", classes, Pass, "12ms", ""},
		{"latency by a class without good answers", "good.p50{class=b} <= 15ms at 2x", classes, Fail, "-", "no samples"},
		{"rejections may be absent at easy loads", "rejected.p99 <= 5ms", steps(step(500, 1), rejects(1000)), Pass, "2ms", "at 2000/s"},
		{"rejections may be few at easy loads", "rejected.p99 <= 5ms", steps(rejects(3), labelled(func() analysis.Step { s := rejects(1000); s.IntendedRPS = 9000; return s }(), "sweep")), Pass, "2ms", "at 9000/s"},
		{"rejections absent everywhere", "rejected.p99 <= 5ms", steps(step(500, 1)), Fail, "-", "no samples: nothing was rejected"},

		{"a count in a kind of phase, those with a name too", "rejected == 3000 in spike", phases, Pass, "3000", ""},
		{"a count in a named phase", "good == 500 in after", phases, Pass, "500", ""},
		{"a count in a phase of two steps", "good == 1500 in flood", phases, Pass, "1500", ""},
		{"a count at a load in a phase", "good == 1000 at 1x in flood", phases, Pass, "1000", ""},
		{"a share in a phase", "good >= 25% in spike", phases, Pass, "25%", ""},
		{"a count by class in a phase", "good{class=a} == 190 in classes", phases, Pass, "190", ""},
		{"goodput in a phase is over all its steps", "goodput >= 0.75x in flood", phases, Pass, "0.75x", ""},
		{"goodput in a ramp", "goodput == 250/s in ramp", phases, Pass, "250/s", ""},
		{"latency in a phase", "good.p99 <= 80ms in after", phases, Pass, "75ms", ""},
		{"a load that was offered in another phase", "good > 0 at 2x in after", phases, Inconclusive, "-", "load 2x was not reached: the nearest is 0.5x"},
		{"a phase that was not run", "good > 0 in before", phases, Inconclusive, "-", "phase before was not run"},
		{"what is not measured is no phase", "good > 0 in settle", phases, Inconclusive, "-", "phase settle was not run"},
		{"a phase not honestly offered", "good > 0 in bad", phases, Inconclusive, "-", "lag"},
		{"goodput of a phase not honestly offered", "goodput > 0 in bad", phases, Inconclusive, "-", "lag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check, err := Parse(c.check)
			if err != nil {
				t.Fatal(err)
			}
			got := Judge([]Check{check}, &c.r)[0]
			if got.Verdict != c.verdict || c.got != "" && got.Got != c.got || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s: got %q, %s, %q; want %q, %s, %q", c.check, got.Got, got.Verdict, got.Why, c.got, c.verdict, c.why)
			}
			if got.Verdict == Inconclusive && got.Why == "" {
				t.Error("inconclusive without a reason")
			}
			if got.Name != check.Name() || got.Want != check.Want() {
				t.Errorf("name %q, want %q", got.Name, got.Want)
			}
		})
	}
}

// TestJudgeAnything: whatever a result holds, each check gets one of the three
// verdicts, a reason when it is inconclusive, and words without NaN.
func TestJudgeAnything(t *testing.T) {
	verdicts := []string{
		"", "found", "no_knee", "below_range", "no_goodput", "generator_limited", "inversion", "insufficient", "inconclusive",
		"plateau", "decline", "collapse", "range_short", "recovered", "slow", "not_recovered", "not_tested", "measured",
	}
	rapid.Check(t, func(t *rapid.T) {
		verdict := func(of string) string { return rapid.SampledFrom(verdicts).Draw(t, of) }
		number := func(of string) *float64 {
			if rapid.Bool().Draw(t, "no "+of) {
				return nil
			}
			return ptr(rapid.Float64Range(0, 1e6).Draw(t, of))
		}
		r := &analysis.Result{
			Capacity:  analysis.Capacity{RPS: number("capacity")},
			Knee:      analysis.Knee{Verdict: verdict("knee"), RPS: number("knee"), LowRPS: number("low"), HighRPS: number("high")},
			Plateau:   analysis.Plateau{Verdict: verdict("plateau"), MinRetention: number("least"), TestedToX: number("to")},
			Recovery:  analysis.Recovery{Verdict: verdict("recovery"), MedianS: number("median"), ProjectionS: number("projection")},
			Rejection: analysis.Rejection{Verdict: verdict("rejection"), Q: number("q"), QLow: number("q low")},
		}
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			s := step(float64(rapid.IntRange(0, 3000).Draw(t, "rps")), rapid.Float64Range(0, 1).Draw(t, "good"))
			s = quick(s, rapid.Int64Range(0, 600).Draw(t, "count"), 5, 9)
			s.Valid = rapid.Bool().Draw(t, "valid")
			s.Name = rapid.SampledFrom([]string{"", "a", "in"}).Draw(t, "name")
			r.Steps = append(r.Steps, s)
		}
		c := anyCheck(t)
		got := Judge([]Check{c}, r)[0]
		if !slices.Contains([]string{Pass, Fail, Inconclusive}, got.Verdict) {
			t.Errorf("%s: verdict %q", c, got.Verdict)
		}
		if got.Verdict == Inconclusive && got.Why == "" {
			t.Errorf("%s: inconclusive without a reason: %+v", c, got)
		}
		if text := fmt.Sprint(got); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %s", c, text)
		}
	})
}
