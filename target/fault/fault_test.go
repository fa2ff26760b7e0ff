package fault_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"knee/target/fault"
	"knee/target/plugin"
	"knee/target/protection"
)

const (
	ms    = time.Millisecond
	never = protection.Never
)

// kinds are the names of the command-line contract.
var kinds = strings.Fields("slow_service lose_workers stall pause error_share crash_restart slow_reject contention dependency_stall expensive_burst")

func TestNamesOfTheContract(t *testing.T) {
	for _, name := range kinds {
		if _, err := fault.Registry.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}

func setup(ramp time.Duration) fault.Setup {
	return fault.Setup{Workers: 10, Service: 20 * ms, Classes: []string{"a", "b"}, Ramp: ramp, Rand: rand.New(rand.NewPCG(1, 2))}
}

// build builds a fault whose knobs change has changed.
func build(t *testing.T, name string, ramp time.Duration, change map[string]any) (fault.Fault, error) {
	t.Helper()
	info, err := fault.Registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	knobs := info.Knobs()
	for knob, value := range change {
		set(t, reflect.ValueOf(knobs).Elem(), knob, value)
	}
	return info.New(setup(ramp), knobs)
}

func must(t *testing.T, name string, ramp time.Duration, change map[string]any) fault.Fault {
	t.Helper()
	f, err := build(t, name, ramp, change)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// set sets the field with a yaml tag, at the top or in an inlined struct.
func set(t *testing.T, v reflect.Value, knob string, value any) {
	t.Helper()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Tag.Get("yaml") == knob {
			v.FieldByIndex(f.Index).Set(reflect.ValueOf(value))
			return
		}
	}
	t.Fatalf("there is no knob %s", knob)
}

func healthy() fault.Conditions {
	return fault.Conditions{WorkFactor: 1, Workers: 10, RejectCost: 0.05}
}

func bend(f fault.Fault, at time.Duration) (fault.Conditions, time.Duration) {
	c := healthy()
	next := f.Bend(at, &c)
	return c, next
}

func treat(f fault.Fault, r *protection.Request) fault.Treatment {
	t := fault.Treatment{Work: 20 * ms}
	if x, ok := f.(fault.Treater); ok {
		x.Treat(time.Second, r, &t)
	}
	return t
}

func TestAShareOfNothingDoesNothing(t *testing.T) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			f := must(t, name, 0, map[string]any{"share": 0.0})
			if got, next := bend(f, time.Second); got != healthy() || next != never {
				t.Errorf("conditions %+v until %v, want healthy ones for ever", got, next)
			}
			for range 100 {
				if got := treat(f, &protection.Request{}); got != (fault.Treatment{Work: 20 * ms}) {
					t.Fatalf("a request became %+v, want it left alone", got)
				}
			}
		})
	}
}

func TestDefaultsDoSomething(t *testing.T) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			f := must(t, name, 0, nil)
			changed := false
			if got, _ := bend(f, time.Second); got != healthy() {
				changed = true
			}
			for range 200 {
				changed = changed || treat(f, &protection.Request{}) != fault.Treatment{Work: 20 * ms}
			}
			if !changed {
				t.Error("nothing changed")
			}
		})
	}
}

func TestKnobsOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		name, knob string
		value      any
	}{
		{"slow_service", "factor", 0.0},
		{"slow_service", "factor", math.NaN()},
		{"slow_service", "fixed", -ms},
		{"slow_service", "share", 1.1},
		{"slow_service", "class", "c"},
		{"slow_service", "first_n", -1},
		{"lose_workers", "share", -0.1},
		{"lose_workers", "count", -1},
		{"stall", "share", math.NaN()},
		{"pause", "share", 0.5},
		{"error_share", "share", 2.0},
		{"crash_restart", "share", 0.5},
		{"crash_restart", "down", -ms},
		{"crash_restart", "cold_factor", 0.5},
		{"crash_restart", "warm_up", -ms},
		{"slow_reject", "reject_cost", 1.5},
		{"contention", "contention", -1.0},
		{"contention", "coherence", 2.0},
		{"dependency_stall", "hold", -ms},
		{"expensive_burst", "factor", -1.0},
	} {
		t.Run(fmt.Sprintf("%s/%s=%v", tt.name, tt.knob, tt.value), func(t *testing.T) {
			_, err := build(t, tt.name, 0, map[string]any{tt.knob: tt.value})
			if got := plugin.KnobErrors(err); len(got) != 1 || got[0].Knob != tt.knob {
				t.Errorf("error %v, want one about %s", err, tt.knob)
			}
		})
	}
}

func TestWhatIsThereOrNotHasNoRamp(t *testing.T) {
	for _, name := range kinds {
		_, err := build(t, name, time.Second, nil)
		refuses := name == "stall" || name == "pause" || name == "crash_restart"
		if (err != nil) != refuses {
			t.Errorf("%s with a ramp: %v, want refused: %v", name, err, refuses)
		}
		if _, err := build(t, name, -time.Second, nil); err == nil {
			t.Errorf("%s takes a negative ramp", name)
		}
	}
}

func TestRampsGrowFromNothingToAll(t *testing.T) {
	type at struct {
		now  time.Duration
		want float64
	}
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		of    func(fault.Conditions) float64
		want  []at // the fault begins at 10 s and grows for 1 s
	}{
		{"slow_service", map[string]any{"factor": 3.0}, func(c fault.Conditions) float64 { return c.WorkFactor }, []at{{0, 1}, {500 * ms, 2}, {time.Second, 3}, {5 * time.Second, 3}}},
		{"lose_workers", map[string]any{"share": 0.5}, func(c fault.Conditions) float64 { return float64(c.Workers) }, []at{{0, 10}, {500 * ms, 7}, {time.Second, 5}}},
		{"lose_workers", map[string]any{"count": 3}, func(c fault.Conditions) float64 { return float64(c.Workers) }, []at{{time.Second, 7}}},
		{"slow_reject", map[string]any{"reject_cost": 0.4}, func(c fault.Conditions) float64 { return c.RejectCost }, []at{{0, 0.05}, {500 * ms, 0.2}, {time.Second, 0.4}}},
		{"contention", map[string]any{"contention": 0.1, "coherence": 0.0}, func(c fault.Conditions) float64 { return c.Contention }, []at{{0, 0}, {250 * ms, 0.025}, {time.Second, 0.1}}},
		{"contention", map[string]any{"coherence": 0.1}, func(c fault.Conditions) float64 { return c.Coherence }, []at{{0, 0}, {time.Second, 0.1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := must(t, tt.name, time.Second, tt.knobs)
			bend(f, 10*time.Second)
			for _, a := range tt.want {
				if got, _ := bend(f, 10*time.Second+a.now); math.Abs(tt.of(got)-a.want) > 1e-9 {
					t.Errorf("after %v it is %v, want %v", a.now, tt.of(got), a.want)
				}
			}
		})
	}
}

func TestARampComesToItsEnd(t *testing.T) {
	for _, over := range []time.Duration{1, 7, 99, 100, 101, time.Second, 1234567891} {
		f := must(t, "slow_service", over, map[string]any{"factor": 2.0})
		now, steps := time.Duration(5), 0
		for {
			c, next := bend(f, now)
			if next == never {
				if c.WorkFactor != 2 || now != 5+over {
					t.Errorf("over %v: the factor is %v at %v, want 2 at the end", over, c.WorkFactor, now)
				}
				break
			}
			if next <= now {
				t.Fatalf("over %v: the instant after %v is %v", over, now, next)
			}
			if steps++; steps > 200 {
				t.Fatalf("over %v: more than 200 steps", over)
			}
			now = next
		}
	}
}

func TestScope(t *testing.T) {
	a, b := &protection.Request{Class: 0, Tenant: "x"}, &protection.Request{Class: 1, Tenant: "y"}
	slow := fault.Treatment{Work: 60 * ms}
	same := fault.Treatment{Work: 20 * ms}
	for _, tt := range []struct {
		name   string
		knobs  map[string]any
		wantA  fault.Treatment
		wantB  fault.Treatment
		thenB  fault.Treatment // a second time
		change bool            // of the conditions
	}{
		{"all", nil, same, same, same, true},
		{"class", map[string]any{"class": "b"}, same, slow, slow, false},
		{"tenant", map[string]any{"tenant": "x"}, slow, same, same, false},
		{"first_n", map[string]any{"first_n": 2}, slow, slow, same, false},
		{"fixed", map[string]any{"fixed": 60 * ms, "factor": 1000.0}, slow, slow, slow, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := must(t, "slow_service", 0, tt.knobs)
			if c, _ := bend(f, 0); (c != healthy()) != tt.change {
				t.Errorf("conditions %+v, want them changed: %v", c, tt.change)
			}
			for i, want := range []fault.Treatment{tt.wantA, tt.wantB, tt.thenB} {
				r := b
				if i == 0 {
					r = a
				}
				if got := treat(f, r); got != want {
					t.Errorf("request %d became %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

func TestShareHitsByChance(t *testing.T) {
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		hit   fault.Treatment
	}{
		{"error_share", map[string]any{"share": 0.3}, fault.Treatment{Work: 20 * ms, Fail: fault.ReasonFault}},
		{"expensive_burst", map[string]any{"share": 0.3}, fault.Treatment{Work: 200 * ms}},
		{"dependency_stall", map[string]any{"share": 0.3}, fault.Treatment{Work: 20 * ms, Stuck: true}},
		{"dependency_stall", map[string]any{"share": 0.3, "hold": 80 * ms}, fault.Treatment{Work: 100 * ms}},
		{"stall", map[string]any{"share": 0.3}, fault.Treatment{Work: 20 * ms, Stuck: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := must(t, tt.name, 0, tt.knobs)
			bend(f, 0)
			const n = 10_000
			hits := 0
			for range n {
				switch got := treat(f, &protection.Request{}); got {
				case tt.hit:
					hits++
				case fault.Treatment{Work: 20 * ms}:
				default:
					t.Fatalf("a request became %+v, want %+v or nothing", got, tt.hit)
				}
			}
			if share := float64(hits) / n; math.Abs(share-0.3) > 0.02 { // four standard deviations
				t.Errorf("%.3f of the requests were hit, want 0.3", share)
			}
		})
	}
}

func TestCrashThenColdThenWarm(t *testing.T) {
	f := must(t, "crash_restart", 0, map[string]any{"down": time.Second, "cold_factor": 5.0, "warm_up": 2 * time.Second})
	for _, tt := range []struct {
		at     time.Duration
		down   bool
		factor float64
	}{
		{3 * time.Second, true, 1},
		{3999 * ms, true, 1},
		{4 * time.Second, false, 5},
		{5 * time.Second, false, 3},
		{6 * time.Second, false, 1},
		{60 * time.Second, false, 1},
	} {
		c, _ := bend(f, tt.at)
		if c.Down != tt.down || math.Abs(c.WorkFactor-tt.factor) > 1e-9 || c.Crashes != 1 {
			t.Errorf("at %v: %+v, want down %v and factor %v after one crash", tt.at, c, tt.down, tt.factor)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for _, name := range kinds {
		f := must(t, name, 0, nil)
		treater, _ := f.(fault.Treater)
		var (
			r protection.Request
			c fault.Conditions
			u fault.Treatment
		)
		if n := testing.AllocsPerRun(100, func() {
			f.Bend(time.Second, &c)
			if treater != nil {
				treater.Treat(time.Second, &r, &u)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for a request", name, n)
		}
	}
}
