package order_test

import (
	"math/rand/v2"
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

func build(t interface{ Fatal(...any) }, i plugin.Info[order.New]) order.Order {
	var k any
	if i.Knobs != nil {
		k = i.Knobs()
	}
	o, err := i.New(order.Setup{Rand: rand.New(rand.NewPCG(1, 2))}, k)
	if err != nil {
		t.Fatal(err)
	}
	return o
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
		i, err := order.Registry.Lookup(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		o := build(t, i)
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

// TestContract holds what the core relies on: an order gives back each request
// that it was given, once, unless it was removed before.
func TestContract(t *testing.T) {
	for _, i := range order.Registry.All() {
		t.Run(i.Name, func(t *testing.T) {
			if strings.HasSuffix(i.Doc, ".") || strings.Contains(i.Doc, "\n") {
				t.Errorf("doc %q: want one line without a full stop", i.Doc)
			}
			if i.Knobs != nil {
				k := reflect.TypeOf(i.Knobs()).Elem()
				for j := range k.NumField() {
					if f := k.Field(j); f.Tag.Get("yaml") == "" || f.Tag.Get("doc") == "" {
						t.Errorf("knob %s: want yaml and doc tags", f.Name)
					}
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				o, twin := build(t, i), build(t, i)
				var now time.Duration
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
						r := protection.Request{
							ID: next, Arrived: now, Cost: 1, Tenant: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant"),
							Criticality: protection.Criticality(rapid.IntRange(0, 3).Draw(t, "criticality")),
						}
						copied := r
						mine[next], theirs[next] = &r, &copied
						waiting = append(waiting, next)
						o.Push(now, &r)
						twin.Push(now, &copied)
					},
					"pop": func(t *rapid.T) {
						l := protection.Load{Waiting: len(waiting), Oldest: protection.Never, LastEmpty: now}
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
					"": func(t *rapid.T) {
						if o.Len() != len(waiting) {
							t.Fatalf("%d wait, and it says %d", len(waiting), o.Len())
						}
					},
				})
			})
		})
	}
}

// TestNamesOfTheContract holds the list of kind names of the command-line contract.
func TestNamesOfTheContract(t *testing.T) {
	for _, name := range strings.Fields("fifo lifo adaptive_lifo priority fair") {
		if _, err := order.Registry.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}
