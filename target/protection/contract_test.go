package protection_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// minimal sets what a protection demands. One that is not listed works with its
// defaults.
var minimal = map[string]map[string]any{
	"queue_bound": {"count": 20},
	"limit":       {"limit": 20},
	"rate":        {"rate": 500.0},
}

// build makes a protection with the knobs given, by their names in a profile.
func build(t *testing.T, name string, knobs map[string]any) (protection.Protection, error) {
	t.Helper()
	i, err := protection.Registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	var k any
	if i.Knobs != nil {
		k = i.Knobs()
	}
	for knob, value := range knobs {
		f := field(t, k, knob)
		f.Set(reflect.ValueOf(value))
	}
	return i.New(protection.Setup{Workers: 10, Service: 10 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 2))}, k)
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

// field finds a knob by its name; that of one within another is a path, such as
// reject.scaling.
func field(t *testing.T, knobs any, name string) reflect.Value {
	t.Helper()
	v := reflect.ValueOf(knobs).Elem()
	for part := range strings.SplitSeq(name, ".") {
		i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return f.Tag.Get("yaml") == part })
		if i < 0 {
			t.Fatalf("no knob %q", name)
		}
		v = v.FieldByIndex(reflect.VisibleFields(v.Type())[i].Index)
	}
	return v
}

// knobsOf lists the knobs of a type by name, with those within another after it.
func knobsOf(t reflect.Type, within string, f func(name string, knob reflect.StructField)) {
	for i := range t.NumField() {
		k := t.Field(i)
		if k.Tag.Get("yaml") == ",inline" {
			knobsOf(k.Type, within, f)
			continue
		}
		name := within + k.Tag.Get("yaml")
		f(name, k)
		if k.Type.Kind() == reflect.Struct {
			knobsOf(k.Type, name+".", f)
		}
	}
}

// each runs f for each protection of the registry.
func each(t *testing.T, f func(t *testing.T, i plugin.Info[protection.New])) {
	for _, i := range protection.Registry.All() {
		t.Run(i.Name, func(t *testing.T) { f(t, i) })
	}
}

func TestContractDocs(t *testing.T) {
	each(t, func(t *testing.T, i plugin.Info[protection.New]) {
		if strings.HasSuffix(i.Doc, ".") || strings.Contains(i.Doc, "\n") {
			t.Errorf("doc %q: want one line without a full stop", i.Doc)
		}
		if i.Worse == "" || strings.HasSuffix(i.Worse, ".") || strings.Contains(i.Worse, "\n") {
			t.Errorf("worse %q: want one line without a full stop that says when a plain bound is better", i.Worse)
		}
		if i.Knobs == nil {
			return
		}
		knobsOf(reflect.TypeOf(i.Knobs()).Elem(), "", func(_ string, f reflect.StructField) {
			if !f.IsExported() || f.Tag.Get("yaml") == "" || f.Tag.Get("doc") == "" {
				t.Errorf("knob %s: want an exported field with yaml and doc tags", f.Name)
			}
		})
	})
}

func TestContractDefaults(t *testing.T) {
	each(t, func(t *testing.T, i plugin.Info[protection.New]) {
		_, err := build(t, i.Name, nil)
		if _, demands := minimal[i.Name]; demands {
			if len(plugin.KnobErrors(err)) == 0 {
				t.Errorf("without knobs: %v, want an error that names the knob", err)
			}
		} else if err != nil {
			t.Errorf("without knobs: %v", err)
		}
		must(t, i.Name, minimal[i.Name])
	})
}

// TestContractBadKnobs sets each knob to what cannot be right.
func TestContractBadKnobs(t *testing.T) {
	each(t, func(t *testing.T, i plugin.Info[protection.New]) {
		if i.Knobs == nil {
			return
		}
		knobsOf(reflect.TypeOf(i.Knobs()).Elem(), "", func(name string, knob reflect.StructField) {
			var bad []any
			switch reflect.New(knob.Type).Elem().Interface().(type) {
			case time.Duration:
				bad = []any{-time.Second}
			case int:
				bad = []any{-1}
			case float64:
				bad = []any{-1.0, math.NaN()}
			case string:
				bad = []any{"nonsense", ""}
			}
			for _, value := range bad {
				knobs := map[string]any{}
				for n, v := range minimal[i.Name] {
					knobs[n] = v
				}
				knobs[name] = value
				_, err := build(t, i.Name, knobs)
				if errs := plugin.KnobErrors(err); len(errs) != 1 || errs[0].Knob != name {
					t.Errorf("%s = %v: got %v, want one error that names the knob", name, value, err)
				}
			}
		})
	})
}

func TestContractReportsAllKnobs(t *testing.T) {
	_, err := build(t, "queue_bound", map[string]any{"count": -1, "wait": -time.Second, "age": -time.Second, "cost": -1.0})
	if got := len(plugin.KnobErrors(err)); got != 4 {
		t.Errorf("%d knobs reported of 4 that are wrong: %v", got, err)
	}
}

// degraded stands among decisions for a request that is let in for the cheaper answer.
const degraded = "(degraded)"

// tape puts a protection through n requests under changing loads and returns
// what it decided.
func tape(p protection.Protection, n int) []protection.Reason {
	rng := rand.New(rand.NewPCG(5, 6))
	picker, _ := p.(protection.Picker)
	ticker, _ := p.(protection.Ticker)
	var decisions []protection.Reason
	var now, tick time.Duration
	for id := range uint64(n) {
		now += time.Duration(rng.IntN(int(2 * time.Millisecond)))
		l := protection.Load{
			Waiting: rng.IntN(100), Running: rng.IntN(10), Workers: 10, CostRate: 1000,
			Oldest: now - time.Duration(rng.IntN(int(time.Second))), LastEmpty: now,
		}
		if id >= uint64(n)/8 {
			l.Running = l.Workers // what goes by the workers wants to see them busy for long
		}
		l.Admitted, l.QueuedCost = l.Waiting+l.Running, float64(l.Waiting)
		if ticker != nil && now >= tick {
			tick = ticker.Tick(now, l)
		}
		r := &protection.Request{
			ID: id, Client: uint32(rng.IntN(50)), Criticality: protection.Criticality(rng.IntN(4)), Cost: 1,
			Arrived: now, Deadline: now + time.Duration(rng.IntN(int(100*time.Millisecond))), Expires: protection.Never,
		}
		reason := p.Admit(now, r, l)
		if r.Degraded {
			reason = degraded
		}
		decisions = append(decisions, reason)
		if reason == degraded {
			reason = ""
		}
		if reason != "" {
			continue
		}
		e := protection.End{Outcome: protection.Served, Waited: time.Duration(rng.IntN(1e7)), Served: time.Duration(rng.IntN(2e7))}
		if picker != nil {
			if reason := picker.Pick(now+e.Waited, r, l); reason != "" {
				e = protection.End{Outcome: protection.Dropped, Reason: reason, Waited: e.Waited}
			}
			decisions = append(decisions, e.Reason)
		}
		p.Leave(now+e.Waited+e.Served, r, e)
	}
	return decisions
}

func TestContractSameInputsSameDecisions(t *testing.T) {
	each(t, func(t *testing.T, i plugin.Info[protection.New]) {
		a, b := tape(must(t, i.Name, minimal[i.Name]), 20_000), tape(must(t, i.Name, minimal[i.Name]), 20_000)
		if !slices.Equal(a, b) {
			t.Error("two instances decided differently: a protection uses now and Setup.Rand alone")
		}
		if i.Name != "none" && !slices.ContainsFunc(a, func(r protection.Reason) bool { return r != "" }) {
			t.Error("it never refused anything")
		}
		if !slices.Contains(a, "") {
			t.Error("it let nothing in")
		}
	})
}

func TestContractExtremes(t *testing.T) {
	each(t, func(t *testing.T, i plugin.Info[protection.New]) {
		p := must(t, i.Name, minimal[i.Name])
		picker, _ := p.(protection.Picker)
		ticker, _ := p.(protection.Ticker)
		for _, now := range []time.Duration{0, 1, time.Hour, time.Second, protection.Never - 1} {
			for _, deadline := range []time.Duration{0, now, protection.Never} {
				for _, l := range []protection.Load{
					{},
					{Workers: 1, Oldest: protection.Never, LastEmpty: now, CostRate: math.Inf(1)},
					{Waiting: math.MaxInt, Running: math.MaxInt, Admitted: math.MaxInt, Workers: math.MaxInt, QueuedCost: math.MaxFloat64, CostRate: math.NaN()},
				} {
					r := &protection.Request{Cost: math.MaxFloat64, Arrived: now, Deadline: deadline, Expires: protection.Never}
					if ticker != nil {
						ticker.Tick(now, l)
					}
					if p.Admit(now, r, l) != "" {
						continue
					}
					if picker != nil {
						picker.Pick(now, r, l)
					}
					p.Leave(now, r, protection.End{Served: protection.Never})
				}
			}
		}
	})
}

func TestContractNoAllocations(t *testing.T) {
	each(t, func(t *testing.T, i plugin.Info[protection.New]) {
		p := must(t, i.Name, minimal[i.Name])
		picker, _ := p.(protection.Picker)
		ticker, _ := p.(protection.Ticker)
		var now time.Duration
		r := new(protection.Request)
		n := testing.AllocsPerRun(10_000, func() {
			now += time.Millisecond
			*r = protection.Request{Cost: 1, Arrived: now, Deadline: now + 50*time.Millisecond, Expires: protection.Never}
			if ticker != nil {
				ticker.Tick(now, protection.Load{Workers: 10, CostRate: 1000, Running: 3, Admitted: 3})
			}
			if p.Admit(now, r, protection.Load{Workers: 10, CostRate: 1000, Running: 3, Admitted: 3}) != "" {
				return
			}
			if picker != nil {
				picker.Pick(now, r, protection.Load{Workers: 10, CostRate: 1000, Running: 3, Admitted: 3})
			}
			p.Leave(now, r, protection.End{Served: 5 * time.Millisecond})
		})
		if n != 0 {
			t.Errorf("%v allocations per request", n)
		}
	})
}

// TestNamesOfTheContract holds the list of kind names of the command-line contract.
func TestNamesOfTheContract(t *testing.T) {
	for _, name := range strings.Fields("queue_bound deadline codel limit aimd vegas gradient2 gradient bbr dagor pid rate random red criticality cost overload_manager brownout slow_start breakwater") {
		if _, err := protection.Registry.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}
