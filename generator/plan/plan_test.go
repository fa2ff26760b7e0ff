package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func classes(weights ...float64) []Class {
	var all []Class
	for i, w := range weights {
		all = append(all, Class{Name: string(rune('a' + i)), Weight: w, Cost: 1, Timeout: time.Second, Deadline: time.Second})
	}
	return all
}

func hold(rate float64, d time.Duration) Phase { return Phase{Kind: Hold, Rate: rate, For: d} }

func ramp(from, to float64, d time.Duration) Phase {
	return Phase{Kind: Ramp, From: from, To: to, For: d}
}

// one returns a spec of one class and one client.
func one(phases ...Phase) Spec {
	return Spec{Seed: 1, Phases: phases, Classes: classes(1), Clients: 1}
}

func mustNew(t testing.TB, s Spec) *Plan {
	t.Helper()
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// expWork draws exponential work, as target/work does.
type expWork struct{ mean float64 }

func (w expWork) Draw(r *rand.Rand) time.Duration {
	return max(1, time.Duration(r.ExpFloat64()*w.mean))
}

// fixedWork is a constant that says so.
type fixedWork time.Duration

func (w fixedWork) Draw(*rand.Rand) time.Duration { return time.Duration(w) }
func (w fixedWork) Constant() bool                { return true }

func instants(p *Plan) []time.Duration {
	var at []time.Duration
	for a := range p.All() {
		at = append(at, a.At)
	}
	return at
}

func TestConstantArrivalsStandOnTheHalves(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		phases []Phase
		want   []time.Duration
	}{
		"hold":                {[]Phase{hold(4, time.Second)}, []time.Duration{125 * ms, 375 * ms, 625 * ms, 875 * ms}},
		"below one half":      {[]Phase{hold(0.1, 4*time.Second)}, nil},
		"0.1 per second":      {[]Phase{hold(0.1, 20*time.Second)}, []time.Duration{5 * time.Second, 15 * time.Second}},
		"carried over a step": {[]Phase{hold(1, 750*ms), hold(1, time.Second)}, []time.Duration{500 * ms, 1500 * ms}},
		"carried over a rest": {[]Phase{hold(1, 250*ms), hold(0, 5*time.Second), hold(1, 750*ms)}, []time.Duration{5500 * ms}},
		"exactly at an end goes to the next": {
			[]Phase{hold(1, 500*ms), hold(2, 500*ms)},
			[]time.Duration{500 * ms},
		},
		// Integral of a ramp from 0 to 8 in 1 s is 4t²: 0.5 at sqrt(1/8) s …
		"ramp from zero": {[]Phase{ramp(0, 8, time.Second)}, []time.Duration{353553391, 612372436, 790569415, 935414347}},
		// … and the ramp to 0 is its mirror image.
		"ramp to zero": {[]Phase{ramp(8, 0, time.Second)}, []time.Duration{64585653, 209430585, 387627564, 646446609}},
		"no slope":     {[]Phase{ramp(4, 4, time.Second)}, []time.Duration{125 * ms, 375 * ms, 625 * ms, 875 * ms}},
		"tiny slope":   {[]Phase{ramp(4, 4+1e-12, time.Second)}, []time.Duration{125 * ms, 375 * ms, 625 * ms, 875 * ms}},
		"tiny fall":    {[]Phase{ramp(4+1e-12, 4, time.Second)}, []time.Duration{125 * ms, 375 * ms, 625 * ms, 875 * ms}},
		"spike":        {[]Phase{hold(1, time.Second), {Kind: Spike, Rate: 4, For: 500 * ms}, hold(1, time.Second)}, []time.Duration{500 * ms, 1125 * ms, 1375 * ms, 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustNew(t, one(c.phases...))
			if got := instants(p); !slices.Equal(got, c.want) {
				t.Errorf("arrivals at %v, want %v", got, c.want)
			}
			if got := p.Count(); got != uint64(len(c.want)) {
				t.Errorf("Count() = %d, want %d", got, len(c.want))
			}
		})
	}
}

// Ten hours at a rate whose gap is no whole number of nanoseconds: the last
// arrival must stand where the closed form puts it.
func TestNoDriftOverHours(t *testing.T) {
	p := mustNew(t, one(hold(7, 10*time.Hour)))
	var last Arrival
	for a := range p.All() {
		last = a
	}
	const n = 7 * 36000
	want := time.Duration(math.Round((n - 0.5) / 7 * 1e9))
	if last.Seq != n-1 || (last.At-want).Abs() > 1 {
		t.Errorf("arrival %d is at %v, want %d at %v", last.Seq, last.At, n-1, want)
	}
}

// Of a ramp from 100 to 900, the first half holds 300 of each 500.
func TestRampShape(t *testing.T) {
	for _, process := range []Process{Constant, Poisson} {
		s := one(ramp(100, 900, 100*time.Second))
		s.Arrivals = process
		var early, late float64
		for a := range mustNew(t, s).All() {
			if a.At < 50*time.Second {
				early++
			} else {
				late++
			}
		}
		for _, half := range []struct{ got, want float64 }{{early, 15000}, {late, 35000}} {
			bound := 0.5
			if process == Poisson {
				bound = 4 * math.Sqrt(half.want)
			}
			if math.Abs(half.got-half.want) > bound {
				t.Errorf("%v: %v arrivals in a half, want %v within %v", process, half.got, half.want, bound)
			}
		}
	}
}

func TestSweep(t *testing.T) {
	p := mustNew(t, one(Phase{Kind: Sweep, From: 1, To: 10, Ratio: 2, Hold: 2 * time.Second, Passes: 3}))
	steps := p.Steps()
	if len(steps) != 15 || p.Duration() != 30*time.Second {
		t.Fatalf("%d steps in %v, want 15 in 30s", len(steps), p.Duration())
	}
	orders := map[string]bool{}
	for pass := range 3 {
		var loads []float64
		for i, s := range steps[pass*5 : pass*5+5] {
			if s.Index != pass*5+i || s.Pass != pass || s.Label != "sweep" || s.From != s.To ||
				s.Start != time.Duration(s.Index)*2*time.Second || s.Duration != 2*time.Second {
				t.Errorf("step %+v of pass %d is out of place", s, pass)
			}
			loads = append(loads, s.From)
		}
		var order []byte
		for _, l := range loads {
			order = append(order, byte('0'+int(l)))
		}
		orders[string(order)] = true
		slices.Sort(loads)
		if want := []float64{1, 2, 4, 8, 10}; !slices.Equal(loads, want) {
			t.Errorf("pass %d has loads %v, want %v", pass, loads, want)
		}
	}
	if len(orders) < 2 {
		t.Errorf("passes have the orders %v, want shuffled ones", orders)
	}
}

func TestSweepEndsExactlyAtTo(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, ratio float64
		want            []float64
	}{
		"to between powers":          {1, 3, 2, []float64{1, 2, 3}},
		"to is a power":              {1, 8, 2, []float64{1, 2, 4, 8}},
		"to is a power but rounding": {1, 1.331, 1.1, []float64{1, 1.1, 1.21, 1.331}},
		"one load":                   {5, 5, 2, []float64{5}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Phase{From: c.from, To: c.to, Ratio: c.ratio}.loads()
			if got[len(got)-1] != c.to || len(got) != len(c.want) {
				t.Fatalf("loads are %v, want %v, the last exactly", got, c.want)
			}
			for i := range got {
				if math.Abs(got[i]-c.want[i]) > 1e-12 {
					t.Errorf("load %d is %v, want %v", i, got[i], c.want[i])
				}
			}
		})
	}
}

func TestLabels(t *testing.T) {
	steps := mustNew(t, one(
		Phase{Kind: Hold, Label: "settle", Rate: 1, For: time.Second}, Phase{Kind: Spike, Rate: 2, For: time.Second},
	)).Steps()
	if steps[0].Label != "settle" || steps[1].Label != "spike" || steps[1].Phase != 1 {
		t.Errorf("steps %+v, want the phase's label, else its kind", steps)
	}
}

func TestStartShiftsEveryInstant(t *testing.T) {
	s := one(hold(1e6, 10*time.Millisecond))
	s.Arrivals = Poisson
	p := mustNew(t, s)
	a, b := p.Cursor(0), p.Cursor(time.Hour)
	for x, ok := a.Next(); ok; x, ok = a.Next() {
		y, _ := b.Next()
		x.At += time.Hour
		if x != y {
			t.Fatalf("arrival %+v, want %+v", y, x)
		}
	}
}

func TestNextAfterTheEnd(t *testing.T) {
	for _, process := range []Process{Constant, Poisson} {
		s := one(hold(10, time.Second))
		s.Arrivals = process
		c := mustNew(t, s).Cursor(0)
		for _, ok := c.Next(); ok; _, ok = c.Next() {
		}
		for range 100 {
			if a, ok := c.Next(); ok {
				t.Fatalf("%v: arrival %+v after the end", process, a)
			}
		}
	}
}

func TestJitterBreaksTies(t *testing.T) {
	s := one(hold(1000, 10*time.Second))
	s.Jitter, s.Work = true, fixedWork(time.Millisecond)
	at, work := map[time.Duration]bool{}, map[time.Duration]bool{}
	k := 0
	for a := range mustNew(t, s).All() {
		exact := time.Duration(k)*time.Millisecond + 500*time.Microsecond
		if off := a.At - exact; off < 0 || off >= time.Microsecond {
			t.Fatalf("arrival %d is %v off, want below 1µs", k, off)
		}
		if off := a.Work - time.Millisecond; off < 0 || off >= time.Microsecond {
			t.Fatalf("work of %d is %v off, want below 1µs", k, off)
		}
		at[a.At-exact], work[a.Work] = true, true
		k++
	}
	// 10,000 draws of 1,000 values leave out none but with e^-10 each.
	if k != 10000 || len(at) < 990 || len(work) < 990 {
		t.Errorf("%d arrivals, %d offsets, %d works, want 10000, about 1000, about 1000", k, len(at), len(work))
	}
}

func TestJitterKeepsTheOrderAtTheHighestRate(t *testing.T) {
	s := one(hold(1e6, 20*time.Millisecond))
	s.Jitter = true
	k := 0
	for a := range mustNew(t, s).All() {
		exact := time.Duration(k)*1000 + 500
		if off := a.At - exact; off < 0 || off >= 500 {
			t.Fatalf("arrival %d is %v off, want below half a gap", k, off)
		}
		k++
	}
	if k != 20000 {
		t.Errorf("%d arrivals, want 20000", k)
	}
}

// TestJitterOfShortWork: what is added to constant work is at most a hundredth
// of it, so that its mean stays what was asked for.
func TestJitterOfShortWork(t *testing.T) {
	for work, most := range map[time.Duration]time.Duration{5 * time.Microsecond: 50, 99: 1, 100 * time.Microsecond: 1000, time.Hour: 1000} {
		s := one(hold(1000, 10*time.Second))
		s.Jitter, s.Work = true, fixedWork(work)
		highest := time.Duration(0)
		for a := range mustNew(t, s).All() {
			highest = max(highest, a.Work-work)
		}
		if highest >= most || highest < most*9/10-1 {
			t.Errorf("%v of work get up to %v more, want up to %v", work, highest, most)
		}
	}
}

func TestJitterLeavesOtherWorkAlone(t *testing.T) {
	s := one(hold(1000, time.Second))
	s.Work = expWork{1e6}
	plain := slices.Collect(mustNew(t, s).All())
	s.Jitter = true
	for i, a := range slices.Collect(mustNew(t, s).All()) {
		if a.Work != plain[i].Work {
			t.Fatalf("work of %d is %v with jitter, %v without", i, a.Work, plain[i].Work)
		}
	}
}

func TestStreamsDoNotShiftEachOther(t *testing.T) {
	s := Spec{Seed: 9, Arrivals: Poisson, Phases: []Phase{hold(1000, time.Second)}, Classes: classes(1), Clients: 1}
	lean := slices.Collect(mustNew(t, s).All())
	s.Classes, s.Clients, s.Work = classes(1, 2), 50, expWork{1e6}
	full := slices.Collect(mustNew(t, s).All())
	if len(lean) != len(full) {
		t.Fatalf("%d arrivals, want %d", len(full), len(lean))
	}
	for i := range lean {
		if lean[i].At != full[i].At {
			t.Fatalf("arrival %d moved from %v to %v", i, lean[i].At, full[i].At)
		}
	}
	s.Clients = 51
	for i, a := range slices.Collect(mustNew(t, s).All()) {
		if a.Class != full[i].Class || a.Work != full[i].Work {
			t.Fatalf("arrival %d has class %d and work %v, want %d and %v", i, a.Class, a.Work, full[i].Class, full[i].Work)
		}
	}
}

func TestProcessNames(t *testing.T) {
	for name, want := range map[string]Process{"": Constant, "constant": Constant, "poisson": Poisson, "bursty": Bursty, "replay": Replayed} {
		if got, err := ParseProcess(name); err != nil || got != want {
			t.Errorf("ParseProcess(%q) = %v, %v, want %v", name, got, err, want)
		}
		if name != "" && want.String() != name {
			t.Errorf("String() = %q, want %q", want.String(), name)
		}
	}
	const want = `arrivals is "posson": want one of constant, poisson, bursty, replay`
	if _, err := ParseProcess("posson"); err == nil || err.Error() != want {
		t.Errorf("ParseProcess: %v, want %s", err, want)
	}
}
