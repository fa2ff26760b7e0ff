package record

import (
	"strings"
	"testing"
)

func TestConservedNamesTheDifference(t *testing.T) {
	whole := Tally{
		Counts: Counts{
			Planned: 10, Unsent: 1, Withheld: 1, Sent: 8, Attempts: 9,
			Good: 2, Degraded: 1, Late: 1, Rejected: 2, Timeout: 1, Failed: 1, Unfinished: 1,
		},
		RejectedBy: map[string]uint64{"limit": 1, "codel": 1},
		FailedBy:   map[string]uint64{"reset": 1},
		WithheldBy: map[string]uint64{"throttle": 1},
		UnsentBy:   map[string]uint64{"in_flight": 1},
	}
	if err := whole.Conserved(); err != nil {
		t.Fatalf("a tally that adds up: %v", err)
	}
	for name, test := range map[string]struct {
		spoil func(*Tally)
		want  []string
	}{
		"an original without an ending": {
			func(t *Tally) { t.Planned++; t.Sent++; t.Attempts++ },
			[]string{"planned is 11, endings are 10", "1 missing"},
		},
		"an original that ended twice": {
			func(t *Tally) { t.Good++ },
			[]string{"planned is 10, endings are 11", "1 too many"},
		},
		"neither sent nor given up": {
			func(t *Tally) { t.Sent -= 2 },
			[]string{"sent + withheld + unsent is 6 + 1 + 1 = 8: 2 missing"},
		},
		"fewer attempts than sent": {
			func(t *Tally) { t.Attempts = 7 },
			[]string{"sent is 8, attempts are 7"},
		},
		"more degraded than good": {
			func(t *Tally) { t.Degraded = 3 },
			[]string{"degraded is 3, good is 2"},
		},
		"a rejection without a reason": {
			func(t *Tally) { delete(t.RejectedBy, "limit") },
			[]string{"rejected is 2, its reasons add up to 1: 1 missing"},
		},
		"an unsent reason too many": {
			func(t *Tally) { t.UnsentBy["ports"] = 4 },
			[]string{"unsent is 1, its reasons add up to 5: 4 too many"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := whole.Clone()
			test.spoil(&spoilt)
			err := spoilt.Conserved()
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is %q, want it to say %q", err, want)
				}
			}
		})
	}
	if err := whole.Conserved(); err != nil {
		t.Errorf("a clone shares a map: %v", err)
	}
}

func TestKindNames(t *testing.T) {
	for k := range kinds {
		if got, ok := kindNamed(k.String()); !ok || got != k {
			t.Errorf("kind %d is called %q, which is kind %d (%v)", k, k, got, ok)
		}
	}
	if got := kinds.String(); got != "unknown" {
		t.Errorf("a kind that does not exist is called %q", got)
	}
	if _, ok := kindNamed("unknown"); ok {
		t.Error(`there is a kind called "unknown"`)
	}
}
