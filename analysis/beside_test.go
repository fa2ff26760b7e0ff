package analysis

import (
	"testing"
)

func TestDifferences(t *testing.T) {
	found := func(v, low, high float64) *Result {
		return &Result{Knee: Knee{Verdict: "found", RPS: &v, LowRPS: &low, HighRPS: &high}}
	}
	none := &Result{Knee: Knee{Verdict: "no_knee"}}
	for name, c := range map[string]struct {
		first, second *Result
		want          string
	}{
		"the same":           {found(500, 480, 520), found(500, 480, 520), NoneSeen},
		"overlap":            {found(500, 480, 520), found(515, 510, 560), NoneSeen},
		"above":              {found(500, 480, 520), found(560, 530, 590), Higher},
		"below":              {found(500, 480, 520), found(440, 420, 460), Lower},
		"none of the second": {found(500, 480, 520), none, Other},
		"none of either":     {none, none, NoneSeen},
		"never asked":        {found(500, 480, 520), &Result{Knee: Knee{Verdict: notTested}}, NoWord},
	} {
		b := Compare([]string{"a", "b"}, []*Result{c.first, c.second})
		if b.Answers[0].Answer != "knee" {
			t.Fatalf("%s: the first answer is %s", name, b.Answers[0].Answer)
		}
		if got := b.Answers[0].Values[1].Difference; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	b := Compare([]string{"a", "b"}, []*Result{found(500, 480, 520), found(440, 420, 460)})
	if change := *b.Answers[0].Values[1].Change; change < -0.121 || change > -0.119 {
		t.Errorf("the change is %v, want -0.12", change)
	}
}

func TestSettingsThatDiffer(t *testing.T) {
	a := &Result{Run: Run{Seed: 1, Clock: Wall}, Profile: map[string]any{"target": map[string]any{"workers": 10.0, "protections": []any{map[string]any{"kind": "codel"}}}}}
	b := &Result{Run: Run{Seed: 1, Clock: Wall}, Profile: map[string]any{"target": map[string]any{"workers": 9.0, "protections": []any{}}}}
	got := Compare([]string{"a", "b"}, []*Result{a, b}).Settings
	if len(got) != 2 || got[0].Path != "target.protections.0.kind" || got[0].Values[0] != `"codel"` || got[0].Values[1] != "" ||
		got[1].Path != "target.workers" || got[1].Values[1] != "9" {
		t.Errorf("settings %+v, want the protection and the workers", got)
	}
}
