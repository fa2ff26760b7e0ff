package plan

import (
	"math"
	"testing"
	"time"

	"knee/target/work"
)

func redrawn(t *testing.T, s work.Spec, sticky bool) (*Plan, *Redraw) {
	t.Helper()
	d, err := work.New(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Spec{
		Seed: 7, Clients: 10, Work: d, Sticky: sticky, Jitter: true,
		Phases:  []Phase{{Kind: Hold, Rate: 1000, For: 10 * time.Second}},
		Classes: []Class{{Name: "default", Weight: 1, Cost: 1, Timeout: time.Second, Deadline: time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Redraw()
}

func TestFurtherAttemptsDrawTheirWorkAnew(t *testing.T) {
	p, r := redrawn(t, work.Spec{Kind: "bimodal", Mean: time.Millisecond, SlowShare: 0.1, SlowFactor: 101}, false)
	var slow, slowAgain, both, n float64
	is := func(d time.Duration) float64 {
		if d > time.Millisecond {
			return 1
		}
		return 0
	}
	for a := range p.All() {
		n++
		second := r.Work(&a, 2)
		if second != r.Work(&a, 2) {
			t.Fatal("the same attempt draws another work")
		}
		slow += is(a.Work)
		slowAgain += is(second)
		both += is(a.Work) * is(second)
		if a.Seq > 0 && r.Work(&a, 3) == 0 {
			t.Fatal("no work")
		}
	}
	if share := slowAgain / n; math.Abs(share-0.1) > 0.015 {
		t.Errorf("%.3f of the second attempts are slow, want 0.1", share)
	}
	if share := both / slow; math.Abs(share-0.1) > 0.045 { // four deviations of about 1,000
		t.Errorf("%.3f of those whose first was slow are slow again, want 0.1", share)
	}
}

func TestWorkThatStays(t *testing.T) {
	if _, r := redrawn(t, work.Spec{Kind: "exponential", Mean: time.Millisecond}, true); r != nil {
		t.Error("sticky work is drawn anew")
	}
	p, r := redrawn(t, work.Spec{Kind: "constant", Mean: time.Millisecond}, false)
	for a := range p.All() {
		if got := r.Work(&a, 2); got != a.Work {
			t.Fatalf("constant work of %v becomes %v", a.Work, got)
		}
	}
}
