package order_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// pushed pushes requests, each "name level" or "name protected", a millisecond
// apart, and returns their names by ID.
func pushed(t fatal, o order.Order, requests string) []string {
	t.Helper()
	var names []string
	for request := range strings.SplitSeq(requests, ",") {
		name, level, _ := strings.Cut(strings.TrimSpace(request), " ")
		r := &protection.Request{ID: uint64(len(names)), Arrived: time.Duration(len(names)) * ms}
		if level == "protected" {
			r.Protected = true
		} else {
			r.Criticality = protection.Criticality(level[0] - '0')
		}
		o.Push(r.Arrived, r)
		names = append(names, name)
	}
	return names
}

// popped empties o and returns the names, one letter each.
func popped(o order.Order, names []string) string {
	var s string
	for _, id := range popAll(o, 0, 0) {
		s += names[id]
	}
	return s
}

func TestPriority(t *testing.T) {
	for _, tt := range []struct{ name, spec, push, want string }{
		{"highest first, alike in order", "priority", "a 0, b 2, c 1, d 2", "bdca"},
		{"protected with the highest", "priority", "a 2, b protected, c 3, d 0", "bcad"},
		{"every fourth choice to the longest wait below", "priority:reserve=0.25", "a 0, b 1, c 2, d 2, e 2, f 2, g 2, h 2, i 2", "cdeafghbi"},
		{"half", "priority:reserve=0.5", "a 0, b 0, c 3, d 3, e 3", "cadbe"},
		{"no choice, nothing owed", "priority:reserve=0.5", "a 1, b 1, c 1, d 1", "abcd"},
		{"nearly all", "priority:reserve=0.75", "a 2, b 1, c 0, d 2", "abcd"},
	} {
		o := makeOrder(t, tt.spec)
		names := pushed(t, o, tt.push)
		if got := popped(o, names); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestPriorityPushOut(t *testing.T) {
	for _, tt := range []struct{ name, spec, push, newcomer, want string }{
		{"the oldest of the lowest", "priority", "x 0, y 0", "2", "x"},
		{"the newest of the lowest", "priority:push_out=newest", "x 0, y 0", "2", "y"},
		{"nobody", "priority:push_out=none", "x 0, y 0", "2", ""},
		{"of the lowest that waits", "priority", "x 2, y 1, z 1", "3", "y"},
		{"nobody alike", "priority", "x 2, y 2", "2", ""},
		{"nobody above", "priority", "x 2, y 3", "1", ""},
		{"not for the lowest", "priority", "x 0", "0", ""},
		{"for a protected one", "priority", "x 2", "p", "x"},
		{"nobody protected", "priority", "x protected, y protected", "3", ""},
		{"none waits", "priority", "x 0", "3", ""},
	} {
		o := makeOrder(t, tt.spec)
		names := pushed(t, o, tt.push)
		if tt.name == "none waits" {
			popAll(o, 0, 0)
		}
		r := &protection.Request{Protected: tt.newcomer == "p"}
		if !r.Protected {
			r.Criticality = protection.Criticality(tt.newcomer[0] - '0')
		}
		got := ""
		if v := o.(order.Evictor).Evict(0, r); v != nil {
			got = names[v.ID]
		}
		if got != tt.want {
			t.Errorf("%s: pushed out %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestPriorityInABoundedQueue: a server with a bound of 2 gives up the oldest of
// the lowest level, and serves the newcomer first.
func TestPriorityInABoundedQueue(t *testing.T) {
	c := serverOf(t, "priority", "queue_bound:count=2")
	at := func(id uint64, level protection.Criticality) {
		c.Arrive(0, &protection.Request{ID: id, Criticality: level, Cost: 1, Work: 10 * ms, Deadline: protection.Never})
	}
	at(0, protection.Critical) // runs
	at(1, protection.Sheddable)
	at(2, protection.Sheddable)
	at(3, protection.Critical) // 1 makes room
	at(4, protection.Sheddable)
	c.Advance(time.Second)
	var refused, served []uint64
	for _, e := range c.Effects() {
		if e.Kind == server.Refuse {
			refused = append(refused, e.R.ID)
		} else {
			served = append(served, e.R.ID)
		}
	}
	if !slices.Equal(refused, []uint64{1, 4}) || !slices.Equal(served, []uint64{0, 3, 2}) {
		t.Errorf("refused %v and served %v, want [1 4] and [0 3 2]", refused, served)
	}
}

// TestPriorityModel compares it with sorting all that waits.
func TestPriorityModel(t *testing.T) {
	level := func(r *protection.Request) int {
		if r.Protected {
			return 3
		}
		return int(r.Criticality)
	}
	rapid.Check(t, func(t *rapid.T) {
		o := makeOrder(t, "priority")
		var waiting []*protection.Request
		for id := range uint64(rapid.IntRange(1, 60).Draw(t, "steps")) {
			if len(waiting) > 0 && rapid.Bool().Draw(t, "remove") {
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which")
				o.Remove(waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			}
			r := anyRequest(t, id, time.Duration(id))
			waiting = append(waiting, r)
			o.Push(r.Arrived, r)
			if rapid.Bool().Draw(t, "pop") {
				slices.SortStableFunc(waiting, func(a, b *protection.Request) int { return level(b) - level(a) })
				if got := o.Pop(0, protection.Load{}); got != waiting[0] {
					t.Fatalf("popped %d, want %d", got.ID, waiting[0].ID)
				}
				waiting = waiting[1:]
				slices.SortFunc(waiting, func(a, b *protection.Request) int { return int(a.ID) - int(b.ID) })
			}
		}
	})
}

// TestReserveEndsStarvation floods a server with critical requests: strictly, no
// other is ever served; with a reserve they get their share and no more.
func TestReserveEndsStarvation(t *testing.T) {
	for spec, want := range map[string]int{"priority": 0, "priority:reserve=0.1": 100, "priority:reserve=0.29": 290} {
		o := makeOrder(t, spec)
		low := 0
		for range 20 {
			o.Push(0, &protection.Request{Criticality: protection.SheddablePlus})
		}
		for range 1000 {
			o.Push(0, &protection.Request{Criticality: protection.Critical})
			r := o.Pop(0, protection.Load{})
			if r.Criticality == protection.SheddablePlus {
				low++
				o.Push(0, r)
			}
		}
		if low < want-1 || low > want {
			t.Errorf("%s: %d of 1000 were not critical, want %d", spec, low, want)
		}
	}
}
