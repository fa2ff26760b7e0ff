package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"knee/ci/verdict"
	"knee/generator/live"
	"knee/generator/plan"
)

// A machine that can offer up to a limit is found to, from a guess that is
// within a factor of two, in a few trials, and never beyond the limit.
func TestCeilingIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(1000, 500_000).Draw(t, "limit")
		guess := limit * rapid.Float64Range(0.5, 2).Draw(t, "guess")
		tries := 0
		most := rapid.IntRange(0, 12).Draw(t, "tries")
		got, err := ceiling(guess, func(rate float64) (bool, error) {
			tries++
			return rate <= limit, nil
		}, func() bool { return tries < most })
		if err != nil || got > limit {
			t.Fatalf("%v, %v after %d tries; want at most %v", got, err, tries, limit)
		}
		if most >= 8 && got < limit/ceilingWidth {
			t.Fatalf("%v after %d tries; want within %v of %v", got, tries, ceilingWidth, limit)
		}
		if tries > most {
			t.Fatalf("%d tries, where %d were allowed", tries, most)
		}
	})
}

func TestCeilingEnds(t *testing.T) {
	always := func() bool { return true }
	for name, c := range map[string]struct {
		guess, limit, want float64
	}{
		"a machine that can do nothing":     {40_000, 100, 0},
		"a guess of nothing":                {0, 520, leastCeiling},
		"a machine that can do all":         {900_000, 1e9, plan.MaxRate},
		"a guess beyond all":                {1e9, 1e9, plan.MaxRate},
		"a machine at the least of ceiling": {leastCeiling, leastCeiling, leastCeiling},
	} {
		got, err := ceiling(c.guess, func(rate float64) (bool, error) { return rate <= c.limit, nil }, always)
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
	broken := errors.New("no server")
	if got, err := ceiling(1000, func(float64) (bool, error) { return false, broken }, always); got != 0 || !errors.Is(err, broken) {
		t.Errorf("%v, %v; want 0 and what broke", got, err)
	}
}

// A load is tried again when others were perhaps in the way, and only then.
func TestTwice(t *testing.T) {
	disturbed, alone := 0.3, 0.02
	for name, c := range map[string]struct {
		tries []doctorLoad
		more  bool
		want  bool
		made  int
	}{
		"honest at once":       {[]doctorLoad{{Honest: true, WaitedShare: &disturbed}}, true, true, 1},
		"others, then nobody":  {[]doctorLoad{{WaitedShare: &disturbed}, {Honest: true}}, true, true, 2},
		"others both times":    {[]doctorLoad{{WaitedShare: &disturbed}, {WaitedShare: &disturbed}}, true, false, 2},
		"nobody in the way":    {[]doctorLoad{{WaitedShare: &alone}}, true, false, 1},
		"nothing is known":     {[]doctorLoad{{}}, true, false, 1},
		"others, and time out": {[]doctorLoad{{WaitedShare: &disturbed}}, false, false, 1},
	} {
		made := 0
		got, err := twice(func(float64) (doctorLoad, error) {
			made++
			return c.tries[made-1], nil
		}, func() bool { return c.more })(1000)
		if got != c.want || made != c.made || err != nil {
			t.Errorf("%s: %v, %v after %d tries; want %v after %d", name, got, err, made, c.want, c.made)
		}
	}
}

// What doctor says holds together. How much a machine can do is the machine's.
func TestDoctor(t *testing.T) {
	w, stdout, stderr := quietWorld("doctor", "--format", "json", "--pin", "off")
	if code := run(context.Background(), w); code != verdict.CodeOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var found checkup
	if err := json.Unmarshal(stdout.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	if found.Engine == live.Auto || !slices.Contains(live.Engines(), found.Engine) {
		t.Errorf("engine %q", found.Engine)
	}
	if found.InFlight < 1 || found.ClosedRPS <= 0 || found.ClockStepNS <= 0 || found.Machine.Placement != nil {
		t.Errorf("%+v", found)
	}
	honest := 0.0
	for i, l := range found.Loads {
		if i > 0 && l.IntendedRPS < found.Loads[i-1].IntendedRPS {
			t.Errorf("loads are not in order: %v", found.Loads)
		}
		if l.Honest != (l.Why == "") {
			t.Errorf("%v/s: honest %v, why %q", l.IntendedRPS, l.Honest, l.Why)
		}
		if l.Honest {
			honest = max(honest, l.IntendedRPS)
		}
	}
	if len(found.Loads) < len(doctorLoads)+1 || found.CeilingRPS != honest {
		t.Errorf("a ceiling of %v after loads %+v", found.CeilingRPS, found.Loads)
	}
}

func TestDoctorRefuses(t *testing.T) {
	for _, args := range [][]string{{"doctor", "--engine", "steam"}, {"doctor", "--pin", "x"}, {"doctor", "--format", "xml"}, {"doctor", "now"}} {
		w, stdout, stderr := quietWorld(args...)
		if code := run(context.Background(), w); code != verdict.CodeUsage || stdout.Len() > 0 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want %d and one error", args, code, stdout, stderr, verdict.CodeUsage)
		}
	}
}
