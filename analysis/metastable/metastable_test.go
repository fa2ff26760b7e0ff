package metastable_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"knee/analysis/metastable"
	"knee/analysis/recovery"
)

func after(verdict string) recovery.Result {
	return recovery.Result{Verdict: verdict, Why: verdict, Projection: 10 * time.Second}
}

func episode(verdict, again string) metastable.Episode {
	e := metastable.Episode{After: after(verdict)}
	if again != "" {
		r := after(again)
		e.Again = &r
	}
	return e
}

func TestEpisode(t *testing.T) {
	for _, c := range []struct{ after, again, want string }{
		{recovery.Recovered, "", metastable.Recovered},
		{recovery.Slow, "", metastable.Slow},
		{recovery.Slow, recovery.Recovered, metastable.Slow},
		{recovery.Inconclusive, recovery.Recovered, metastable.Inconclusive},
		{recovery.NotRecovered, "", metastable.Inconclusive},
		{recovery.NotRecovered, recovery.Recovered, metastable.Metastable},
		{recovery.NotRecovered, recovery.NotRecovered, metastable.Damaged},
		{recovery.NotRecovered, recovery.Slow, metastable.Damaged},
		{recovery.NotRecovered, recovery.Inconclusive, metastable.Inconclusive},
	} {
		if got, why := episode(c.after, c.again).Verdict(); got != c.want || why == "" {
			t.Errorf("%s, then %q: %s (%s), want %s", c.after, c.again, got, why, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	good, slow := episode(recovery.Recovered, ""), episode(recovery.Slow, "")
	stuck, dead := episode(recovery.NotRecovered, recovery.Recovered), episode(recovery.NotRecovered, recovery.NotRecovered)
	open := episode(recovery.Inconclusive, "")
	for name, c := range map[string]struct {
		episodes        []metastable.Episode
		want            string
		stuck, triggers int
		low, high       float64
	}{
		"none":                 {nil, metastable.Inconclusive, 0, 0, 0, 1},
		"all recovered":        {[]metastable.Episode{good, good, good}, metastable.Recovered, 0, 3, 0, 0.7076},
		"all stuck":            {[]metastable.Episode{stuck, stuck, stuck}, metastable.Metastable, 3, 3, 0.2924, 1},
		"one of six":           {[]metastable.Episode{good, good, stuck, good, good, good}, metastable.Metastable, 1, 6, 0.0042, 0.6412},
		"damaged":              {[]metastable.Episode{dead, good}, metastable.Damaged, 1, 2, 0.0126, 0.9874},
		"slow once":            {[]metastable.Episode{good, slow, good}, metastable.Slow, 0, 3, 0, 0.7076},
		"one says nothing":     {[]metastable.Episode{good, good, open}, metastable.Recovered, 0, 2, 0, 0.8419},
		"half says nothing":    {[]metastable.Episode{good, open}, metastable.Inconclusive, 0, 1, 0, 0.975},
		"stuck says something": {[]metastable.Episode{open, open, stuck}, metastable.Metastable, 1, 1, 0.025, 1},
	} {
		r := metastable.Judge(c.episodes)
		if r.Verdict != c.want || r.Stuck != c.stuck || r.Triggers != c.triggers || math.Abs(r.Low-c.low) > 1e-4 || math.Abs(r.High-c.high) > 1e-4 || r.Why == "" {
			t.Errorf("%s: %+v, want %+v", name, r, c)
		}
		if (r.Projection > 0) != strings.Contains(name, "slow") {
			t.Errorf("%s: projection %v", name, r.Projection)
		}
	}
}

func TestThreshold(t *testing.T) {
	is := func(verdict string, stuck int) metastable.Result {
		return metastable.Result{Verdict: verdict, Stuck: stuck}
	}
	good, slow, bad, open := is(metastable.Recovered, 0), is(metastable.Slow, 0), is(metastable.Metastable, 1), is(metastable.Inconclusive, 0)
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		loads     map[float64]metastable.Result
		low, high float64
	}{
		"nothing":          {nil, 0, inf},
		"between":          {map[float64]metastable.Result{100: good, 200: slow, 250: bad, 300: bad}, 200, 250},
		"all good":         {map[float64]metastable.Result{100: good, 200: good}, 200, inf},
		"all bad":          {map[float64]metastable.Result{100: bad, 200: bad}, 0, 100},
		"open in between":  {map[float64]metastable.Result{100: good, 150: open, 200: bad}, 100, 200},
		"good above a bad": {map[float64]metastable.Result{100: good, 150: bad, 200: good}, 100, 150},
	} {
		if low, high := metastable.Threshold(c.loads); low != c.low || high != c.high {
			t.Errorf("%s: %v to %v, want %v to %v", name, low, high, c.low, c.high)
		}
	}
}
