package adapter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

var names = []string{"failsafe_limiter", "failsafe_prioritizer", "failsafe_throttler"}

// build makes a protection with the knobs given, by their names in a profile.
func build(t *testing.T, name string, knobs map[string]any) (protection.Protection, error) {
	t.Helper()
	i, err := protection.Registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	k := i.Knobs()
	for knob, value := range knobs {
		v := reflect.ValueOf(k).Elem()
		at := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return f.Tag.Get("yaml") == knob })
		if at < 0 {
			t.Fatalf("%s has no knob %s", name, knob)
		}
		v.Field(at).Set(reflect.ValueOf(value))
	}
	return i.New(protection.Setup{Workers: 10, Service: 20 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 2))}, k)
}

// must is build for knobs that are right.
func must(t *testing.T, name string, knobs map[string]any) protection.Protection {
	t.Helper()
	p, err := build(t, name, knobs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRegistered holds that what this package adds is there, says when it is worse,
// and says that it reads the wall clock.
func TestRegistered(t *testing.T) {
	var wall []string
	for _, i := range protection.Registry.All() {
		if !i.Wall {
			continue
		}
		wall = append(wall, i.Name)
		if i.Worse == "" {
			t.Errorf("%s does not say when it is worse than a plain bound", i.Name)
		}
		for j := range reflect.TypeOf(i.Knobs()).Elem().NumField() {
			if f := reflect.TypeOf(i.Knobs()).Elem().Field(j); f.Tag.Get("yaml") == "" || f.Tag.Get("doc") == "" {
				t.Errorf("%s: knob %s: want yaml and doc tags", i.Name, f.Name)
			}
		}
	}
	if !slices.Equal(wall, names) {
		t.Errorf("%q read the wall clock, want %q", wall, names)
	}
}

// TestBadKnobs holds that what the library would panic about is an error that names
// the knob.
func TestBadKnobs(t *testing.T) {
	for _, name := range names {
		i, err := protection.Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		k := reflect.TypeOf(i.Knobs()).Elem()
		for j := range k.NumField() {
			knob := k.Field(j).Tag.Get("yaml")
			var bad []any
			switch reflect.New(k.Field(j).Type).Elem().Interface().(type) {
			case time.Duration:
				bad = []any{-time.Second, time.Duration(0)}
			case int:
				bad = []any{-1}
			case float64:
				bad = []any{-1.0, math.NaN(), 1e300}
			}
			for _, value := range bad {
				if knob == "max_factor" && value == 1e300 {
					continue // any factor from 1 will do
				}
				_, err := build(t, name, map[string]any{knob: value})
				if errs := plugin.KnobErrors(err); len(errs) != 1 || errs[0].Knob != knob {
					t.Errorf("%s: %s = %v: got %v, want one error that names the knob", name, knob, value, err)
				}
			}
		}
	}
	if _, err := build(t, "failsafe_limiter", map[string]any{"initial": 300}); len(plugin.KnobErrors(err)) != 1 {
		t.Errorf("an initial limit above the highest: %v", err)
	}
}

// TestEveryPermitComesBack holds that, however requests end, each gives back what it
// took: a limiter of ten lets ten in again.
func TestEveryPermitComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(t, "failsafe_limiter", map[string]any{"max": 10, "initial": 10})
		for range 5 {
			var inside []*protection.Request
			for range 15 {
				r := new(protection.Request)
				reason := p.Admit(0, r, protection.Load{})
				if let := reason == ""; let != (len(inside) < 10) || !let && reason != ReasonFailsafeLimiter {
					t.Fatalf("%d inside: %q", len(inside), reason)
				} else if let {
					inside = append(inside, r)
				}
			}
			for i, r := range inside {
				p.Leave(0, r, protection.End{Outcome: protection.Outcome(i % 3)})
			}
		}
		if n := len(p.(*limiter).permits); n != 0 {
			t.Errorf("%d permits are kept of requests that have gone", n)
		}
	})
}

// TestLimiterVector holds what limits the library sets in windows of one sample with
// ten inside, as its public interface does without us.
func TestLimiterVector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(t, "failsafe_limiter", map[string]any{"samples": 1})
		sample := func(took time.Duration) int {
			inside := make([]*protection.Request, 10)
			for i := range inside {
				inside[i] = new(protection.Request)
				if reason := p.Admit(0, inside[i], protection.Load{}); reason != "" {
					t.Fatal(reason)
				}
			}
			time.Sleep(took)
			p.Leave(0, inside[9], protection.End{Outcome: protection.Served})
			for _, r := range inside[:9] {
				p.Leave(0, r, protection.End{Outcome: protection.Dropped})
			}
			time.Sleep(time.Second)
			return p.(protection.Limiter).Limit()
		}
		for _, tt := range []struct {
			took time.Duration
			want []int
		}{
			{100 * time.Millisecond, []int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}},
			{200 * time.Millisecond, []int{33, 34, 33, 32, 31, 30, 29, 29, 29, 29, 29, 29}},
			{100 * time.Millisecond, []int{29, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39}},
		} {
			var got []int
			for range tt.want {
				got = append(got, sample(tt.took))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("limits %v at %v, want %v", got, tt.took, tt.want)
			}
		}
	})
}

// TestLimiterMaxFactor holds that the limit keeps to a multiple of what is inside.
func TestLimiterMaxFactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(t, "failsafe_limiter", map[string]any{"samples": 1})
		for range 60 {
			r := new(protection.Request)
			if reason := p.Admit(0, r, protection.Load{}); reason != "" {
				t.Fatal(reason)
			}
			time.Sleep(10 * time.Millisecond)
			p.Leave(0, r, protection.End{Outcome: protection.Served})
			time.Sleep(time.Second)
		}
		if got := p.(protection.Limiter).Limit(); got != 5 {
			t.Errorf("limit %d with one inside, want 5", got)
		}
	})
}

// record has p see so many requests end well and others fail.
func record(p protection.Protection, well, failed int) {
	for i := range well + failed {
		e := protection.End{Outcome: protection.Served}
		if i >= well {
			e.Outcome = protection.Failed
		}
		p.Leave(0, &protection.Request{Deadline: protection.Never}, e)
	}
}

// TestThrottlerRate holds max(0, n - s/(1 - failure_rate)) / (n + 1).
func TestThrottlerRate(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		n, s int
		want float64
	}{
		{0.1, 0, 0, 0},
		{0.1, 1, 0, 0.5},
		{0.1, 100, 95, 0},
		{0.1, 100, 90, 0},
		{0.1, 120, 90, 0.165289},
		{0.5, 3000, 1000, 0.333222}, // K of 2
		{0.5, 1000, 400, 0.199800},
		{0.5, 1000, 250, 0.499500},
		{0.5, 100, 49, 0.019802},
		{0.5, 100, 50, 0},
		{0.1, 1000, 0, 0.9}, // and no more
	} {
		t.Run(fmt.Sprint(tt.rate, tt.n, tt.s), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := must(t, "failsafe_throttler", map[string]any{"failure_rate": tt.rate})
				record(p, tt.s, tt.n-tt.s)
				p.Admit(0, new(protection.Request), protection.Load{})
				if got := p.(throttler).RejectionRate(); math.Abs(got-tt.want) > 1e-6 {
					t.Errorf("refuses %v, want %v", got, tt.want)
				}
				const n = 20_000
				refused := 0.0
				for range n {
					if p.Admit(0, new(protection.Request), protection.Load{}) != "" {
						refused++
					}
				}
				if got := refused / n; math.Abs(got-tt.want) > 0.02 {
					t.Errorf("refused %.3f, want %.3f", got, tt.want)
				}
				if p.Admit(0, &protection.Request{Protected: true}, protection.Load{}) != "" {
					t.Error("a protected request was refused")
				}
			})
		})
	}
}

// TestThrottlerSuccess holds what counts as a success.
func TestThrottlerSuccess(t *testing.T) {
	const deadline = time.Second
	for _, tt := range []struct {
		name    string
		outcome protection.Outcome
		at      time.Duration
		want    float64
	}{
		{"served at the deadline", protection.Served, deadline, 0},
		{"served after it", protection.Served, deadline + 1, 0.5},
		{"dropped", protection.Dropped, 0, 0.5},
		{"failed", protection.Failed, 0, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := must(t, "failsafe_throttler", nil)
				p.Leave(tt.at, &protection.Request{Deadline: deadline}, protection.End{Outcome: tt.outcome})
				p.Admit(0, new(protection.Request), protection.Load{})
				if got := p.(throttler).RejectionRate(); got != tt.want {
					t.Errorf("refuses %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestThrottlerFixedPoint holds that what the throttler refuses itself does not
// count: of 1,000/s, with 80/s that succeed and K = 2, √(1000 · 2 · 80) are let in,
// where the rule of the book would let in 160.
func TestThrottlerFixedPoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(t, "failsafe_throttler", map[string]any{"failure_rate": 0.5})
		const seconds = 600
		let := 0
		for second := range seconds {
			good := 0
			for range 1000 {
				time.Sleep(time.Millisecond)
				if p.Admit(0, new(protection.Request), protection.Load{}) != "" {
					continue
				}
				if second >= seconds/2 {
					let++
				}
				if good < 80 {
					good++
					record(p, 1, 0)
				} else {
					record(p, 0, 1)
				}
			}
		}
		if got := float64(let) / (seconds / 2); got < 385 || got > 415 {
			t.Errorf("lets in %.1f/s, want 400/s", got)
		}
	})
}

// TestPrioritizer holds that the least critical are refused first: with half of the
// requests failing, it is about the lower half.
func TestPrioritizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(t, "failsafe_prioritizer", map[string]any{"max_rejection": 1.0})
		ticker := p.(protection.Ticker)
		refused := func(level protection.Criticality) float64 {
			const n = 2000
			no := 0.0
			for range n {
				if reason := p.Admit(0, &protection.Request{Criticality: level}, protection.Load{}); reason == ReasonFailsafePrioritizer {
					no++
				} else if reason != "" {
					t.Fatal(reason)
				}
			}
			return no / n
		}
		if next := ticker.Tick(0, protection.Load{}); next != 500*time.Millisecond {
			t.Errorf("calibrates again at %v", next)
		}
		for i := range 1000 { // the levels that it goes by
			p.Admit(0, &protection.Request{Criticality: protection.Criticality(i % 4)}, protection.Load{})
		}
		record(p, 450, 550) // refuses (1000 - 450/0.9) / 1001
		ticker.Tick(time.Second, protection.Load{})
		if rate := p.(*prioritizer).RejectionRate(); math.Abs(rate-0.4995) > 1e-4 {
			t.Errorf("a share of %v is to be refused, want 0.4995", rate)
		}
		if plus, shed := refused(protection.CriticalPlus), refused(protection.Sheddable); plus != 0 || shed != 1 {
			t.Errorf("refuses %v of the most critical and %v of the least, want none and all", plus, shed)
		}
		if got := refused(protection.SheddablePlus); got < 0.9 {
			t.Errorf("refuses %v of the second quarter, want nearly all", got)
		}
		if p.Admit(0, &protection.Request{Protected: true}, protection.Load{}) != "" {
			t.Error("a protected request was refused")
		}
	})
}
