package plan

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestOwnPhases: the arrivals of a class with phases of its own are merged with
// the others in the order of time, and count in the step that is on.
func TestOwnPhases(t *testing.T) {
	s := one(hold(2, 2*time.Second), hold(0, 2*time.Second))
	s.Classes = classes(1, 1, 1)
	s.Classes[1].Phases = []Phase{hold(1, 3*time.Second)}
	s.Classes[2].Phases = []Phase{hold(0, time.Second), ramp(0, 8, time.Second)}
	type arrival struct {
		at          time.Duration
		class, step int
	}
	want := []arrival{
		{250 * ms, 0, 0}, // the plan's phases go first where two are due at once …
		{500 * ms, 1, 0},
		{750 * ms, 0, 0},
		{1250 * ms, 0, 0},
		{1353553391, 2, 0},
		{1500 * ms, 1, 0},
		{1612372436, 2, 0},
		{1750 * ms, 0, 0},
		{1790569415, 2, 0},
		{1935414347, 2, 0},
		{2500 * ms, 1, 1},
	}
	p := mustNew(t, s)
	var got []arrival
	for a := range p.All() {
		got = append(got, arrival{a.At, a.Class, a.Step})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
	if p.Count() != 11 || p.Expected() != 11 {
		t.Errorf("Count() = %d, Expected() = %v, want 11", p.Count(), p.Expected())
	}
	// 2/s, 1/s, and 4 in 2 s; then half of 1/s.
	if a, b := p.Steps()[0], p.Steps()[1]; a.Rate() != 5 || b.From != 0.5 || b.To != 0.5 {
		t.Errorf("rates of the steps are %v and %v, want 5 and 0.5", a.Rate(), b.Rate())
	}
}

// TestTiesOfFlows: where two flows are due at once, the plan's goes first and
// the other one a nanosecond later.
func TestTiesOfFlows(t *testing.T) {
	s := one(hold(1, 2*time.Second))
	s.Classes = classes(1, 1)
	s.Classes[0].Phases = []Phase{hold(1, 2*time.Second)}
	want := []time.Duration{500 * ms, 500*ms + 1, 1500 * ms, 1500*ms + 1}
	p := mustNew(t, s)
	if got := instants(p); !slices.Equal(got, want) {
		t.Errorf("arrivals at %v, want %v", got, want)
	}
	first, _ := p.Cursor(0).Next()
	if first.Class != 1 {
		t.Errorf("class %d goes first, want that of the plan's phases", first.Class)
	}
}

// TestFlowsDoNotShiftEachOther: a class with phases of its own neither moves nor
// changes the arrivals of the others, and is no copy of them.
func TestFlowsDoNotShiftEachOther(t *testing.T) {
	for _, process := range []Process{Poisson, Bursty} {
		s := poissonWithWork()
		s.Arrivals, s.Burst = process, Burst{On: 10 * ms, Off: 20 * ms}
		s.Phases = []Phase{hold(1000, time.Second)}
		s.Classes = classes(3, 1, 2)
		s.Classes[2].Weight = 0
		alone := slices.Collect(mustNew(t, s).All())
		s.Classes[2].Phases = []Phase{hold(1000, time.Second)}
		var others, own []Arrival
		for a := range mustNew(t, s).All() {
			if a.Class == 2 {
				own = append(own, a)
				continue
			}
			a.Seq = uint64(len(others))
			others = append(others, a)
		}
		if len(others) != len(alone) {
			t.Fatalf("%v: %d arrivals of others, want %d", process, len(others), len(alone))
		}
		for i := range others {
			if d := others[i].At - alone[i].At; d < 0 || d > 1 {
				t.Fatalf("%v: arrival %+v, want %+v", process, others[i], alone[i])
			}
			others[i].At = alone[i].At
		}
		if !slices.Equal(others, alone) {
			t.Errorf("%v: the others have other draws", process)
		}
		if len(own) < 600 || own[0].At == alone[0].At || own[0].Work == alone[0].Work {
			t.Errorf("%v: %d arrivals of its own, the first %+v, want some 1000 and no copies", process, len(own), own[0])
		}
	}
}

// TestOwnWork: a class with work of its own has that, and leaves the draws of
// the others where they were.
func TestOwnWork(t *testing.T) {
	s := poissonWithWork()
	s.Phases = []Phase{hold(1000, time.Second)}
	s.Jitter = true
	s.Classes = classes(1, 1, 1)
	s.Classes[1].Work = expWork{1e9}
	before := slices.Collect(mustNew(t, s).All())
	s.Classes[1].Work = fixedWork(5 * time.Second)
	s.Classes[2].Work = expWork{1e3}
	work := [3]float64{}
	n := [3]float64{}
	for i, a := range slices.Collect(mustNew(t, s).All()) {
		b := before[i]
		if a.Class != b.Class || a.At != b.At {
			t.Fatalf("arrival %d is %+v, want %+v but for its work", i, a, b)
		}
		switch a.Class {
		case 1:
			if a.Work < 5*time.Second || a.Work >= 5*time.Second+time.Microsecond {
				t.Fatalf("work %v, want 5s and a jitter below 1µs", a.Work)
			}
		case 2:
			work[2] += float64(a.Work)
			n[2]++
		}
	}
	if got := work[2] / n[2]; math.Abs(got-1000) > 4*1000/math.Sqrt(n[2]) {
		t.Errorf("mean work of the third class is %.0f ns, want 1000", got)
	}
}

func TestOwnPhasesFaults(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		change func(*Spec)
		want   []string
	}{
		"fine":        {func(s *Spec) { s.Classes[0].Phases = []Phase{hold(1, second)} }, nil},
		"empty":       {func(s *Spec) { s.Classes[0].Phases = []Phase{} }, []string{"classes[0].phases"}},
		"a bad phase": {func(s *Spec) { s.Classes[0].Phases = []Phase{hold(1, second), hold(-1, 0)} }, []string{"classes[0].phases[1].rate", "classes[0].phases[1].for"}},
		"a sweep": {func(s *Spec) {
			s.Classes[0].Phases = []Phase{hold(1, 1), {Kind: Sweep, From: 1, To: 2, Ratio: 2, Hold: 1, Passes: 1}}
		}, []string{"classes[0].phases[1].kind"}},
		"too long": {func(s *Spec) { s.Classes[0].Phases = []Phase{hold(1, second), hold(1, 1)} }, []string{"classes[0].phases"}},
		"nobody for the plan's phases": {func(s *Spec) {
			s.Classes[0].Phases, s.Classes[1].Phases = []Phase{hold(1, second)}, []Phase{hold(1, second)}
		}, []string{"phases[0].rate"}},
		"nobody, and no rate": {func(s *Spec) {
			s.Classes[0].Phases, s.Classes[1].Phases = []Phase{hold(1, second)}, []Phase{hold(1, second)}
			s.Phases[0].Rate = 0
		}, nil},
		"no weight left": {func(s *Spec) { s.Classes[0].Phases, s.Classes[1].Weight = []Phase{hold(1, second)}, 0 }, []string{"classes"}},
	} {
		s := one(hold(1, second))
		s.Classes = classes(1, 1)
		c.change(&s)
		var got []string
		_, err := New(s)
		for _, f := range FieldErrors(err) {
			got = append(got, f.Field)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: faults in %v, want %v: %v", name, got, c.want, err)
		}
	}
}
