package plan

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestValidateListsEveryFault(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		change func(*Spec)
		fields []string
	}{
		"fine":             {func(*Spec) {}, nil},
		"nothing":          {func(s *Spec) { *s = Spec{} }, []string{"clients", "classes", "phases"}},
		"unknown process":  {func(s *Spec) { s.Arrivals = 7 }, []string{"arrivals"}},
		"no weight":        {func(s *Spec) { s.Classes = classes(0, 0) }, []string{"classes"}},
		"weight nan":       {func(s *Spec) { s.Classes = classes(1, math.NaN()) }, []string{"classes[1].weight"}},
		"negative weight":  {func(s *Spec) { s.Classes = classes(-1, 2) }, []string{"classes[0].weight"}},
		"same name":        {func(s *Spec) { s.Classes = slices.Repeat(classes(1), 2) }, []string{"classes[1].name"}},
		"empty class":      {func(s *Spec) { s.Classes = []Class{{Criticality: 4}} }, []string{"classes[0].name", "classes[0].criticality", "classes[0].cost", "classes[0].timeout", "classes[0].deadline", "classes"}},
		"unknown kind":     {func(s *Spec) { s.Phases[0].Kind = "step" }, []string{"phases[0].kind"}},
		"hold too slow":    {func(s *Spec) { s.Phases[0].Rate = 0.09 }, []string{"phases[0].rate"}},
		"hold too fast":    {func(s *Spec) { s.Phases[0].Rate = 1e6 + 1 }, []string{"phases[0].rate"}},
		"hold nan":         {func(s *Spec) { s.Phases[0].Rate = math.NaN() }, []string{"phases[0].rate"}},
		"spike of nothing": {func(s *Spec) { s.Phases[0] = Phase{Kind: Spike, For: second} }, []string{"phases[0].rate"}},
		"ramp, two faults": {func(s *Spec) { s.Phases[0] = Phase{Kind: Ramp, From: -1, To: math.Inf(1)} }, []string{"phases[0].from", "phases[0].to", "phases[0].for"}},
		"empty sweep":      {func(s *Spec) { s.Phases[0] = Phase{Kind: Sweep} }, []string{"phases[0].from", "phases[0].to", "phases[0].ratio", "phases[0].hold", "phases[0].passes"}},
		"falling sweep":    {func(s *Spec) { s.Phases[0] = Phase{Kind: Sweep, From: 2, To: 1, Ratio: 2, Hold: 1, Passes: 1} }, []string{"phases[0].to"}},
		"ratio one":        {func(s *Spec) { s.Phases[0] = Phase{Kind: Sweep, From: 1, To: 2, Ratio: 1, Hold: 1, Passes: 1} }, []string{"phases[0].ratio"}},
		"field of another": {func(s *Spec) { s.Phases[0].Ratio, s.Phases[0].To = 2, 3 }, []string{"phases[0].to", "phases[0].ratio"}},
		"too long in all":  {func(s *Spec) { s.Phases = []Phase{hold(1, MaxDuration), hold(1, 1)} }, []string{"phases[1].for"}},
		"too many steps":   {func(s *Spec) { s.Phases[0] = Phase{Kind: Sweep, From: 1, To: 2, Ratio: 2, Hold: 1, Passes: MaxSteps} }, []string{"phases[0].passes"}},
		"sweep too long": {func(s *Spec) {
			s.Phases[0] = Phase{Kind: Sweep, From: 1, To: 2, Ratio: 2, Hold: MaxDuration, Passes: 1000}
		}, []string{"phases[0].hold"}},
		"the longest": {func(s *Spec) { s.Phases = []Phase{hold(1, MaxDuration)} }, nil},
		"the most steps": {func(s *Spec) {
			s.Phases[0] = Phase{Kind: Sweep, From: 1, To: 2, Ratio: 2, Hold: 1, Passes: MaxSteps / 2}
		}, nil},
		"faults everywhere": {func(s *Spec) { s.Clients, s.Classes[0].Cost, s.Phases[0].For = 0, 0, 0 }, []string{"clients", "classes[0].cost", "phases[0].for"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(hold(1, second))
			c.change(&s)
			p, err := New(s)
			var got []string
			for _, f := range FieldErrors(err) {
				got = append(got, f.Field)
			}
			if !slices.Equal(got, c.fields) {
				t.Errorf("faults in %v, want %v: %v", got, c.fields, err)
			}
			if (p == nil) != (err != nil) {
				t.Errorf("New = %v, %v, want one of them", p, err)
			}
		})
	}
}

func TestFaultSaysWhatIsAllowed(t *testing.T) {
	_, err := New(one(hold(1e7, time.Second)))
	if want := "phases[0].rate is 1e+07: want arrivals per second from 0.1 to 1000000, or 0"; err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

// Whatever the numbers, a spec is refused with field errors or is a plan that
// ends: walks are in order and, as far as they go, within the plan.
func FuzzSpec(f *testing.F) {
	f.Add("hold", 1000.0, 0.0, 0.0, int64(time.Second), 0.0, int64(0), 0, 3, 1.0, uint8(2), true)
	f.Add("hold", 0.0, 0.0, 0.0, int64(time.Second), 0.0, int64(0), 0, 3, 1.0, uint8(3), true)
	f.Add("hold", 10.0, 0.0, 0.0, int64(time.Second), 0.0, int64(0), 0, 1, 1.0, uint8(0), true)
	f.Add("ramp", 0.0, 0.0, 1e6, int64(1), 0.0, int64(0), 0, 3, 0.5, uint8(1), true)
	f.Add("sweep", 0.0, 0.1, 1e6, int64(0), 1.001, int64(1), 6, 1<<31-1, 1.0, uint8(1), false)
	f.Add("spike", 1e6, 0.0, 0.0, int64(MaxDuration), 0.0, int64(0), 0, 1, math.SmallestNonzeroFloat64, uint8(0), true)
	f.Add("sweep", 0.0, 1.0, math.Inf(1), int64(0), math.NaN(), int64(math.MaxInt64), math.MaxInt64, -1, -1.0, uint8(9), false)
	f.Fuzz(func(t *testing.T, kind string, rate, from, to float64, span int64, ratio float64, hold int64, passes, clients int, weight float64, process uint8, jitter bool) {
		s := Spec{
			Seed: 1, Arrivals: Process(process), Clients: clients, Classes: classes(weight, 1), Jitter: jitter, Work: fixedWork(1),
			Phases: []Phase{{Kind: PhaseKind(kind), Rate: rate, From: from, To: to, For: time.Duration(span), Ratio: ratio, Hold: time.Duration(hold), Passes: passes}},
		}
		s.Phases = append(s.Phases, s.Phases[0])
		s.Burst = Burst{On: time.Duration(hold), Off: time.Duration(span), Idle: ratio}
		s.Replay = Replay{Counts: []int{passes, clients}, Every: time.Duration(hold)}
		p, err := New(s)
		if err != nil {
			if len(FieldErrors(err)) == 0 {
				t.Fatalf("error without a field: %v", err)
			}
			return
		}
		if n := p.Expected(); !(n >= 0) || math.IsInf(n, 0) || p.Duration() <= 0 || p.Duration() > MaxDuration {
			t.Fatalf("plan of %v arrivals in %v", n, p.Duration())
		}
		c, last := p.Cursor(0), time.Duration(-1)
		for range 2000 {
			a, ok := c.Next()
			if !ok {
				break
			}
			if a.At <= last || a.At >= p.Duration()+2000 {
				t.Fatalf("arrival %+v after %v in a plan of %v", a, last, p.Duration())
			}
			last = a.At
		}
	})
}
