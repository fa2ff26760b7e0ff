package verdict

import (
	"testing"

	"knee/analysis"
)

func TestOverallAndCode(t *testing.T) {
	checks := func(verdicts ...string) (all []analysis.Check) {
		for _, v := range verdicts {
			all = append(all, analysis.Check{Verdict: v})
		}
		return all
	}
	for _, c := range []struct {
		name          string
		knee, plateau string
		checks        []analysis.Check
		asked         Question
		want          string
		code          int
	}{
		{"all met", "found", "plateau", checks(Pass, Pass), KneeAndPlateau, Pass, 0},
		{"a collapse is an answer", "found", "collapse", nil, KneeAndPlateau, Pass, 0},
		{"a decline is an answer", "found", "decline", nil, KneeAndPlateau, Pass, 0},
		{"no knee is an answer", "no_knee", "no_knee", nil, KneeAndPlateau, Pass, 0},
		{"below the range is an answer", "below_range", "below_range", nil, KneeAndPlateau, Pass, 0},
		{"a short range is an answer", "found", "range_short", nil, KneeAndPlateau, Pass, 0},
		{"no knee when a check needs one", "no_knee", "no_knee", checks(Inconclusive), KneeAndPlateau, Inconclusive, 5},
		{"no goodput", "no_goodput", "no_goodput", nil, KneeAndPlateau, Fail, 1},
		{"knee limited", "generator_limited", "generator_limited", nil, KneeAndPlateau, Inconclusive, 5},
		{"plateau limited", "found", "generator_limited", checks(Pass), KneeAndPlateau, Inconclusive, 5},
		{"knee insufficient", "insufficient", "insufficient", nil, KneeAndPlateau, Inconclusive, 5},
		{"knee inverted", "inversion", "inversion", nil, KneeAndPlateau, Inconclusive, 5},
		{"plateau inverted", "found", "inversion", nil, KneeAndPlateau, Inconclusive, 5},
		{"plateau inconclusive", "found", "inconclusive", nil, KneeAndPlateau, Inconclusive, 5},
		{"not answered", "", "", nil, KneeAndPlateau, Inconclusive, 5},
		{"a check fails", "found", "plateau", checks(Pass, Fail), KneeAndPlateau, Fail, 1},
		{"fail outranks inconclusive", "found", "plateau", checks(Inconclusive, Fail, Inconclusive), KneeAndPlateau, Fail, 1},
		{"fail outranks an unanswered knee", "generator_limited", "generator_limited", checks(Fail), KneeAndPlateau, Fail, 1},
		{"a run without checks, and without arrivals", "", "", nil, ChecksOnly, Inconclusive, 5},
		{"a run is judged by its checks", "generator_limited", "inversion", checks(Pass), ChecksOnly, Pass, 0},
		{"a run that fails", "", "", checks(Pass, Fail), ChecksOnly, Fail, 1},
		{"a run that is unclear", "", "", checks(Pass, Inconclusive, Pass), ChecksOnly, Inconclusive, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &analysis.Result{Knee: analysis.Knee{Verdict: c.knee}, Plateau: analysis.Plateau{Verdict: c.plateau}, Checks: c.checks}
			if got := Overall(r, c.asked); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := Code(c.want, ""); got != c.code {
				t.Errorf("code %d, want %d", got, c.code)
			}
		})
	}
	for _, c := range []struct {
		overall, inconclusive string
		want                  int
	}{
		{Inconclusive, "", CodeInconclusive},
		{Inconclusive, Inconclusive, CodeInconclusive},
		{Inconclusive, Pass, CodeOK},
		{Inconclusive, Fail, CodeFailed},
		{Fail, Pass, CodeFailed},
		{Pass, Fail, CodeOK},
	} {
		if got := Code(c.overall, c.inconclusive); got != c.want {
			t.Errorf("%s with --inconclusive=%s: code %d, want %d", c.overall, c.inconclusive, got, c.want)
		}
	}
}

// Without checks nobody judges the loads; that they were not offered, or that
// nothing came of them, must not look like a pass.
func TestARunWithoutChecks(t *testing.T) {
	for name, c := range map[string]struct {
		counts    analysis.Counts
		generator string
		want      string
	}{
		"some of it was good":      {analysis.Counts{Planned: 10, Good: 1, Late: 9}, "ok", Pass},
		"nothing was good":         {analysis.Counts{Planned: 10, Late: 10}, "ok", Fail},
		"nothing came":             {analysis.Counts{}, "ok", Inconclusive},
		"the load was not offered": {analysis.Counts{Planned: 10, Good: 1, Unsent: 9}, "limited", Inconclusive},
	} {
		r := &analysis.Result{Generator: analysis.Generator{Verdict: c.generator}, Steps: []analysis.Step{{Counts: c.counts}}}
		if got := Overall(r, ChecksOnly); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		r.Checks = []analysis.Check{{Verdict: Pass}}
		if got := Overall(r, ChecksOnly); got != Pass {
			t.Errorf("%s, with a check that is met: %s, want %s", name, got, Pass)
		}
	}
}
