package order_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/order"
	"knee/target/plugin"
	"knee/target/protection"
)

// variants are orders with knobs that lead down paths of their own, beside those
// with their defaults.
var variants = []string{
	"adaptive_lifo:length=3",
	"adaptive_lifo:since_empty=40ms",
	"adaptive_lifo:occupancy=0.5,limit=6",
	"priority:reserve=0.3,push_out=newest",
	"priority:push_out=none",
	"fair:weights={a: 2.5; b: 0.5}",
	"fair:quantum=0.25,push_out=newest",
	"fair:scheduler=sfq,weights={a: 2; c: 0.3}",
	"fair:by=class,weights={checkout: 3},unit=requests",
	"fair:by=client,scheduler=sfq,push_out=none",
}

// each runs f for each order with its defaults, and for the variants.
func each(t *testing.T, f func(t *testing.T, spec string)) {
	for _, spec := range slices.Concat(order.Registry.Names(), variants) {
		t.Run(spec, func(t *testing.T) { f(t, spec) })
	}
}

func TestOrders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		remove uint64 // ID taken out before the pops; 0: none
		want   []uint64
	}{
		{"fifo", 0, []uint64{1, 2, 3, 4}},
		{"fifo", 1, []uint64{2, 3, 4}},
		{"fifo", 3, []uint64{1, 2, 4}},
		{"fifo", 4, []uint64{1, 2, 3}},
		{"lifo", 0, []uint64{4, 3, 2, 1}},
		{"lifo", 4, []uint64{3, 2, 1}},
		{"lifo", 2, []uint64{4, 3, 1}},
		{"lifo", 1, []uint64{4, 3, 2}},
	} {
		o := makeOrder(t, tt.name)
		waiting := make([]protection.Request, 5)
		for id := uint64(1); id <= 4; id++ {
			waiting[id].ID = id
			o.Push(time.Duration(id), &waiting[id])
		}
		if tt.remove > 0 {
			o.Remove(&waiting[tt.remove])
		}
		var got []uint64
		for o.Len() > 0 {
			got = append(got, o.Pop(0, protection.Load{Waiting: o.Len()}).ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s without %d: popped %v, want %v", tt.name, tt.remove, got, tt.want)
		}
	}
}

func TestContractDocs(t *testing.T) {
	for _, i := range order.Registry.All() {
		for _, line := range []string{i.Doc, i.Worse} {
			if strings.HasSuffix(line, ".") || strings.Contains(line, "\n") {
				t.Errorf("%s: %q: want one line without a full stop", i.Name, line)
			}
		}
		if i.Worse == "" && i.Name != "fifo" { // which a plain bound is put on
			t.Errorf("%s does not say when it is worse than a plain bound", i.Name)
		}
		for _, f := range knobFields(i) {
			if !f.IsExported() || f.Tag.Get("yaml") == "" || f.Tag.Get("doc") == "" {
				t.Errorf("%s: knob %s: want an exported field with yaml and doc tags", i.Name, f.Name)
			}
		}
	}
}

// TestContractBadKnobs sets each knob to what cannot be right.
func TestContractBadKnobs(t *testing.T) {
	for _, i := range order.Registry.All() {
		for _, f := range knobFields(i) {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			var bad []any
			switch reflect.Zero(f.Type).Interface().(type) {
			case time.Duration:
				bad = []any{-time.Second}
			case int:
				bad = []any{-1}
			case float64:
				bad = []any{-1.0, math.NaN(), math.Inf(1)}
			case string:
				bad = []any{"nonsense", ""}
			case map[string]float64:
				bad = []any{map[string]float64{"a": 0}, map[string]float64{"a": math.NaN()}}
			}
			for _, value := range bad {
				k := i.Knobs()
				reflect.ValueOf(k).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(value))
				_, err := i.New(order.Setup{}, k)
				errs := plugin.KnobErrors(err)
				if len(errs) != 1 || errs[0].Knob != name && !strings.HasPrefix(errs[0].Knob, name+".") {
					t.Errorf("%s: %s = %v: got %v, want one error that names the knob", i.Name, name, value, err)
				}
			}
		}
	}
}

// TestContractSweep holds that every order lets a profile say whether it is swept.
func TestContractSweep(t *testing.T) {
	for _, name := range order.Registry.Names() {
		for spec, want := range map[string]bool{name: true, name + ":sweep=true": true, name + ":sweep=false": false} {
			k, ok := makeOrder(t, spec).(order.Keeper)
			if !ok || k.Sweep() != want {
				t.Errorf("%s: is swept: %v, want %v", spec, !want, want)
			}
		}
	}
}

// anyRequest draws what an order may look at.
func anyRequest(t *rapid.T, id uint64, now time.Duration) *protection.Request {
	return &protection.Request{
		ID: id, Arrived: now,
		Cost:        rapid.SampledFrom([]float64{1, 1, 1, 0.5, 2, 7.25}).Draw(t, "cost"),
		Tenant:      rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "tenant"),
		Class:       rapid.IntRange(0, 1).Draw(t, "class"),
		Client:      uint32(rapid.IntRange(0, 4).Draw(t, "client")),
		Criticality: protection.Criticality(rapid.IntRange(0, 3).Draw(t, "criticality")),
		Protected:   rapid.IntRange(0, 9).Draw(t, "protected") == 0,
	}
}

// TestContract holds what the core relies on: an order gives back each request
// that it was given, once, unless it was removed before; what it would push out
// waits, and goes on waiting.
func TestContract(t *testing.T) {
	each(t, func(t *testing.T, spec string) {
		rapid.Check(t, func(t *rapid.T) {
			o, twin := makeOrder(t, spec), makeOrder(t, spec)
			var now, lastEmpty time.Duration
			var waiting []uint64
			mine, theirs := map[uint64]*protection.Request{}, map[uint64]*protection.Request{}
			var next uint64
			forget := func(id uint64) {
				at := slices.Index(waiting, id)
				if at < 0 {
					t.Fatalf("request %d came out and does not wait", id)
				}
				waiting = slices.Delete(waiting, at, at+1)
			}
			t.Repeat(map[string]func(*rapid.T){
				"push": func(t *rapid.T) {
					next++
					now += time.Duration(rapid.IntRange(0, 50).Draw(t, "ms")) * time.Millisecond
					if len(waiting) == 0 {
						lastEmpty = now
					}
					r := anyRequest(t, next, now)
					copied := *r
					mine[next], theirs[next] = r, &copied
					waiting = append(waiting, next)
					o.Push(now, r)
					twin.Push(now, &copied)
				},
				"pop": func(t *rapid.T) {
					l := protection.Load{Waiting: len(waiting), Oldest: protection.Never, LastEmpty: lastEmpty, Running: rapid.IntRange(0, 1).Draw(t, "running")}
					a, b := o.Pop(now, l), twin.Pop(now, l)
					if (a == nil) != (len(waiting) == 0) {
						t.Fatalf("popped %v of %d", a, len(waiting))
					}
					if a == nil {
						return
					}
					if a.ID != b.ID {
						t.Fatalf("two instances popped %d and %d: an order uses its arguments and Setup.Rand alone", a.ID, b.ID)
					}
					if a.Links.Prev != nil || a.Links.Next != nil {
						t.Fatalf("popped %d with its links", a.ID)
					}
					forget(a.ID)
				},
				"remove": func(t *rapid.T) {
					if len(waiting) == 0 {
						t.Skip()
					}
					id := rapid.SampledFrom(waiting).Draw(t, "id")
					o.Remove(mine[id])
					twin.Remove(theirs[id])
					forget(id)
				},
				"evict": func(t *rapid.T) {
					e, ok := o.(order.Evictor)
					if !ok {
						t.Skip()
					}
					r := anyRequest(t, 0, now)
					v := e.Evict(now, r)
					if v == nil {
						return
					}
					if !slices.Contains(waiting, v.ID) || v.Protected {
						t.Fatalf("would push out %d, protected: %v; %v wait", v.ID, v.Protected, waiting)
					}
					if again := e.Evict(now, r); again != v {
						t.Fatalf("would push out %d, then %v: asking changes nothing", v.ID, again)
					}
				},
				"": func(t *rapid.T) {
					if o.Len() != len(waiting) {
						t.Fatalf("%d wait, and it says %d", len(waiting), o.Len())
					}
				},
			})
		})
	})
}

// TestContractNoAllocations pushes and takes out requests of flows that come and go.
func TestContractNoAllocations(t *testing.T) {
	each(t, func(t *testing.T, spec string) {
		o := makeOrder(t, spec)
		evictor, _ := o.(order.Evictor)
		tenants := make([]string, 5000)
		for i := range tenants {
			tenants[i] = string(rune('一' + i))
		}
		requests := make([]protection.Request, 64)
		var now time.Duration
		next := 0
		step := func() {
			now += time.Millisecond
			r := &requests[next%len(requests)]
			if next >= len(requests) {
				o.Remove(r)
			}
			*r = protection.Request{
				ID: uint64(next), Cost: 1 + float64(next%5), Arrived: now, Tenant: tenants[next*7%len(tenants)],
				Client: uint32(next), Class: next % 2, Criticality: protection.Criticality(next % 4),
			}
			if evictor != nil {
				evictor.Evict(now, r)
			}
			o.Push(now, r)
			next++
			l := protection.Load{Waiting: o.Len(), Running: 1}
			for range 3 { // and push back: what was served comes again
				r := o.Pop(now, l)
				r.Arrived = now
				o.Push(now, r)
			}
		}
		for range 20_000 {
			step()
		}
		if n := testing.AllocsPerRun(10_000, step); n > 0 {
			t.Errorf("%v allocations for a request", n)
		}
	})
}

// TestNamesOfTheContract holds the list of kind names of the command-line contract.
func TestNamesOfTheContract(t *testing.T) {
	for _, name := range strings.Fields("fifo lifo adaptive_lifo priority fair") {
		if _, err := order.Registry.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}
