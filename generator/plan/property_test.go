package plan

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func anyRate() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Just(MinRate), rapid.Float64Range(0.1, 10), rapid.Float64Range(10, 20000))
}

func anyPhase() *rapid.Generator[Phase] {
	return rapid.Custom(func(t *rapid.T) Phase {
		rate, span := anyRate(), rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(1, int64(300*time.Millisecond)).Draw(t, "span"))
		})
		orZero := rapid.OneOf(rapid.Just(0.0), rate)
		switch rapid.SampledFrom([]PhaseKind{Hold, Ramp, Spike, Sweep}).Draw(t, "kind") {
		case Hold:
			return Phase{Kind: Hold, Rate: orZero.Draw(t, "rate"), For: span.Draw(t, "for")}
		case Ramp:
			return Phase{Kind: Ramp, From: orZero.Draw(t, "from"), To: orZero.Draw(t, "to"), For: span.Draw(t, "for")}
		case Spike:
			return Phase{Kind: Spike, Rate: rate.Draw(t, "rate"), For: span.Draw(t, "for")}
		}
		from, to := rate.Draw(t, "from"), rate.Draw(t, "to")
		return Phase{
			Kind: Sweep, From: min(from, to), To: max(from, to), Ratio: rapid.Float64Range(1.5, 10).Draw(t, "ratio"),
			Hold: span.Draw(t, "hold") / 10, Passes: rapid.IntRange(1, 2).Draw(t, "passes"),
		}
	})
}

func anySpec() *rapid.Generator[Spec] {
	return rapid.Custom(func(t *rapid.T) Spec {
		s := Spec{
			Seed:     rapid.Uint64().Draw(t, "seed"),
			Arrivals: rapid.SampledFrom([]Process{Constant, Poisson, Bursty, Replayed}).Draw(t, "arrivals"),
			Phases:   rapid.SliceOfN(anyPhase(), 1, 4).Draw(t, "phases"),
			Classes:  classes(rapid.SliceOfN(rapid.Float64Range(0.1, 5), 1, 4).Draw(t, "weights")...),
			Clients:  rapid.IntRange(1, 20).Draw(t, "clients"),
			Jitter:   rapid.Bool().Draw(t, "jitter"),
		}
		if rapid.Bool().Draw(t, "with work") {
			s.Work = expWork{1e6}
		}
		for i := range s.Phases {
			if s.Phases[i].Kind == Sweep && s.Phases[i].Hold == 0 {
				s.Phases[i].Hold = 1
			}
		}
		for i := range s.Classes {
			if rapid.Bool().Draw(t, "own work") {
				s.Classes[i].Work = fixedWork(1e6)
			}
		}
		switch s.Arrivals {
		case Bursty:
			s.Burst = Burst{On: 5 * time.Millisecond, Off: 20 * time.Millisecond, Fixed: rapid.Bool().Draw(t, "fixed"), Idle: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "idle")}
		case Replayed:
			anyReplay(t, &s)
			return s
		}
		for i := range s.Classes {
			if rapid.IntRange(0, 2).Draw(t, "own phases") == 0 {
				s.Classes[i].Phases = ownPhases(t, &s)
			}
		}
		if !slices.ContainsFunc(s.Classes, shared) {
			s.Phases = []Phase{hold(0, 2*time.Second)}
		}
		return s
	})
}

// anyReplay makes s a replay of offsets or counts.
func anyReplay(t *rapid.T, s *Spec) {
	if rapid.Bool().Draw(t, "offsets") {
		for _, at := range rapid.SliceOfN(rapid.Int64Range(0, int64(2*time.Second)), 1, 50).Draw(t, "at") {
			s.Replay.Offsets = append(s.Replay.Offsets, time.Duration(at))
		}
	} else {
		s.Replay.Counts = rapid.SliceOfN(rapid.IntRange(0, 300), 1, 5).Draw(t, "counts")
		s.Replay.Every = rapid.SampledFrom([]time.Duration{0, 7 * time.Millisecond}).Draw(t, "every")
	}
	s.Phases = rapid.SampledFrom([][]Phase{nil, {hold(0, 300*time.Millisecond), {Kind: Spike, For: 10 * time.Second}}}).Draw(t, "steps")
}

// ownPhases draws phases for a class that are no longer than those of s.
func ownPhases(t *rapid.T, s *Spec) []Phase {
	var whole time.Duration
	for _, p := range s.Phases {
		_, d := p.size()
		whole += d
	}
	half := max(1, whole/2)
	return []Phase{hold(anyRate().Draw(t, "own rate"), half), ramp(0, anyRate().Draw(t, "own to"), max(1, whole-half))}[:1+min(1, int(whole-half))]
}

func TestArrivalsAreInOrderAndInTheirSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec().Draw(t, "spec")
		p, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		steps, last, seq := p.Steps(), time.Duration(-1), uint64(0)
		nudged := time.Duration(0) // how far the ties so far can have pushed
		for a := range p.All() {
			if a.Seq != seq || a.At <= last {
				t.Fatalf("arrival %+v after number %d at %v", a, seq, last)
			}
			if a.At == last+1 {
				nudged++
			} else {
				nudged = 0
			}
			step := steps[a.Step]
			if a.At < step.Start || a.At >= step.Start+step.Duration+nudged {
				t.Fatalf("arrival %+v outside its step %+v", a, step)
			}
			if a.Class < 0 || a.Class >= len(s.Classes) || int(a.Client) >= s.Clients || (s.Work == nil && s.Classes[a.Class].Work == nil) != (a.Work == 0) {
				t.Fatalf("arrival %+v does not fit the spec", a)
			}
			last = a.At
			seq++
		}
		if got := p.Count(); got != seq {
			t.Fatalf("Count() = %d, the walk has %d", got, seq)
		}
	})
}

func TestExpectedMeetsTheCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec().Draw(t, "spec")
		p, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		want, got := p.Expected(), float64(p.Count())
		var integral float64
		for _, step := range p.Steps() {
			integral += step.Rate() * step.Duration.Seconds()
		}
		if math.Abs(integral-want) > 1e-9*(1+want) {
			t.Fatalf("Expected() = %v, the steps integrate to %v", want, integral)
		}
		bound := 0.5*float64(len(s.Classes)) + 1e-6
		switch s.Arrivals {
		case Replayed:
			bound = 0
		case Poisson:
			bound = 5*math.Sqrt(want) + 5 // the tail of a small mean is longer than normal
		case Bursty:
			return // spreads further than that; see TestBurstyMean
		}
		if math.Abs(got-want) > bound {
			t.Fatalf("%v arrivals, want %v within %v", got, want, bound)
		}
	})
}

func TestSeedDecidesEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec().Draw(t, "spec")
		if s.Arrivals != Bursty {
			s.Arrivals = Poisson
		}
		s.Phases = append(slices.Clone(s.Phases), hold(1000, 100*time.Millisecond))
		s.Classes = append(s.Classes, Class{Name: "further", Weight: 9, Cost: 1, Timeout: time.Second, Deadline: time.Second})
		for i, p := range s.Phases { // those of a replay have no rate
			if p.Kind == Spike && p.Rate == 0 {
				s.Phases[i].Rate = 10
			}
		}
		p, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		s.Seed++
		other, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Collect(p.All())
		if !slices.Equal(all, slices.Collect(again.All())) {
			t.Fatal("the same seed gives other arrivals")
		}
		if slices.Equal(all, slices.Collect(other.All())) {
			t.Fatal("another seed gives the same arrivals")
		}
	})
}

func TestSharesReunite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec().Draw(t, "spec")
		of := rapid.IntRange(1, 30).Draw(t, "of")
		p, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		var parts []Arrival
		var expected float64
		for i := range of {
			part := p.Take(Share{Index: i, Of: of})
			own := slices.Collect(part.All())
			if part.Count() != uint64(len(own)) {
				t.Fatalf("Count() of a share = %d, the walk has %d", part.Count(), len(own))
			}
			for _, a := range own {
				if int(a.Client)%of != i {
					t.Fatalf("share %d of %d has client %d", i, of, a.Client)
				}
			}
			expected += part.Expected()
			parts = append(parts, own...)
		}
		slices.SortFunc(parts, func(a, b Arrival) int { return int(a.Seq) - int(b.Seq) })
		if !slices.Equal(parts, slices.Collect(p.All())) {
			t.Fatalf("%d shares do not reunite", of)
		}
		if math.Abs(expected-p.Expected()) > 1e-6*(1+expected) {
			t.Fatalf("shares expect %v, the whole %v", expected, p.Expected())
		}
	})
}

func TestAShareOfAShare(t *testing.T) {
	s := one(hold(1000, time.Second))
	s.Clients = 100
	p := mustNew(t, s)
	half := p.Take(Share{Index: 1, Of: 2})
	got := append(slices.Collect(half.Take(Share{Index: 0, Of: 3}).All()), slices.Collect(half.Take(Share{Index: 1, Of: 3}).All())...)
	got = append(got, slices.Collect(half.Take(Share{Index: 2, Of: 3}).All())...)
	slices.SortFunc(got, func(a, b Arrival) int { return int(a.Seq) - int(b.Seq) })
	if !slices.Equal(got, slices.Collect(half.All())) {
		t.Error("thirds of a half do not reunite")
	}
}

func TestTakeRefusesWhatIsNoShare(t *testing.T) {
	p := mustNew(t, one(hold(1, time.Second)))
	for _, s := range []Share{{0, 0}, {-1, 2}, {2, 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Take(%+v) did not panic", s)
				}
			}()
			p.Take(s)
		}()
	}
}
