package protection

import (
	"fmt"
	"testing"
	"time"
)

func newTestBreakwater(t *testing.T, workers int, change func(*breakwaterKnobs)) *breakwater {
	t.Helper()
	k := &breakwaterKnobs{
		Target: 80 * time.Millisecond, Delay: signalWait, Interval: 10 * time.Millisecond,
		Increase: 0.001, Decrease: 0.02, MaxCredits: 64, Idle: 10 * time.Second,
	}
	if change != nil {
		change(k)
	}
	p, err := newBreakwater(Setup{Workers: workers, Service: 10 * time.Millisecond}, k)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*breakwater)
}

// TestBreakwaterPool holds the law of the pool, with the paper's microseconds as
// milliseconds: 1,000 clients, 1,000 credits, a target of 80.
func TestBreakwaterPool(t *testing.T) {
	for _, tt := range []struct{ wait, want int }{
		{0, 1001}, {40, 1001}, {79, 1001}, {80, 1000}, {160, 980}, {800, 820}, {2080, 500}, {4080, 500}, {1_000_000, 500},
	} {
		t.Run(fmt.Sprint(tt.wait), func(t *testing.T) {
			b := newTestBreakwater(t, 10, nil)
			for client := range uint32(1000) {
				b.hear(client)
			}
			b.pool = 1000
			b.Tick(0, Load{Waiting: tt.wait, QueuedCost: float64(tt.wait), CostRate: 1000})
			if b.Limit() != tt.want {
				t.Errorf("%d credits, want %d", b.Limit(), tt.want)
			}
		})
	}
}

// TestBreakwaterPoolCarries holds that parts of credits add up, and the bounds.
func TestBreakwaterPoolCarries(t *testing.T) {
	b := newTestBreakwater(t, 10, func(k *breakwaterKnobs) { k.Increase, k.MaxCredits = 0.25, 5 })
	b.hear(1)
	b.hear(2)
	for i, want := range []int{10, 10, 10, 10} { // 2 clients may have 10 in all, and there are 10 workers
		if b.adjust(0); b.pool != want {
			t.Errorf("step %d: %d credits, want %d", i, b.pool, want)
		}
	}
	for client := range uint32(3) {
		b.hear(10 + client)
	}
	b.carry = 0
	for i, want := range []int{11, 12, 13, 15, 16} { // 1.25 each
		if b.adjust(0); b.pool != want {
			t.Errorf("step %d: %d credits, want %d", i, b.pool, want)
		}
	}
	for range 100 {
		b.adjust(100)
	}
	if b.pool != 10 {
		t.Errorf("%d credits at least, want one for each worker", b.pool)
	}
}

// TestBreakwaterGrants holds over-commitment: max((available - used) / clients, 1)
// on top of what a client has open.
func TestBreakwaterGrants(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		pool, used, open, credits int // used by all of 10 clients, credits by the one
		want                      int
	}{
		{"a tenth of 50 free ones", 100, 50, 2, 4, 8}, // 2 + 1 + 5
		{"at least one", 100, 95, 2, 1, 4},            // 2 + 1 + 1
		{"no more than are free", 100, 98, 40, 3, 5},  // 3 + 2
		{"what is not used goes", 100, 50, 0, 30, 6},  // 0 + 1 + 5
		{"none is free", 100, 100, 2, 4, 4},           //
		{"too many", 100, 101, 9, 10, 9},              //
		{"too many, but everybody keeps one", 100, 150, 0, 1, 1},
		{"no more than the most", 1000, 0, 60, 1, 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newTestBreakwater(t, 10, nil)
			for client := range uint32(10) {
				b.hear(client)
			}
			b.pool, b.used = tt.pool, tt.used
			g := b.hear(3)
			g.open, g.credits = tt.open, tt.credits
			var a Answer
			b.Stamp(0, &Request{Client: 3}, &a)
			if !a.Granted || a.Credits != tt.want {
				t.Errorf("granted %d (%v), want %d", a.Credits, a.Granted, tt.want)
			}
			if want := tt.used + tt.want - tt.credits; b.used != want {
				t.Errorf("%d credits in use, want %d", b.used, want)
			}
		})
	}
}

// TestBreakwaterCountsWhatIsOpen holds that a client has open what was let in and
// has not left, and that others do not matter to it.
func TestBreakwaterCountsWhatIsOpen(t *testing.T) {
	b := newTestBreakwater(t, 10, nil)
	long := Load{Waiting: 1000, QueuedCost: 1000, CostRate: 1000}
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { b.Admit(0, &Request{Client: 1}, Load{}) }, 1},
		{func() { b.Admit(0, &Request{Client: 1}, Load{}) }, 2},
		{func() { b.Admit(0, &Request{Client: 2}, Load{}) }, 2},
		{func() { b.Admit(0, &Request{Client: 1}, long) }, 2}, // refused
		{func() { b.Leave(0, &Request{Client: 1}, End{}) }, 1},
		{func() { b.Leave(0, &Request{Client: 1}, End{Outcome: Dropped}) }, 0},
	} {
		if step.do(); b.clients.by[1].open != step.want {
			t.Errorf("step %d: %d open, want %d", i, b.clients.by[1].open, step.want)
		}
	}
}

// TestBreakwaterForgets holds that memory is bounded, and that credits of clients
// that have gone are free.
func TestBreakwaterForgets(t *testing.T) {
	b := newTestBreakwater(t, 10, nil)
	load := Load{Oldest: Never}
	for client := range uint32(1000) {
		r := &Request{Client: client}
		b.Admit(0, r, load)
		b.Leave(0, r, End{})
		b.Stamp(0, r, new(Answer))
	}
	used := b.used
	b.Admit(9*time.Second, &Request{Client: 7}, load)
	b.Tick(10*time.Second-1, load)
	if len(b.clients.by) != 1000 || b.used != used {
		t.Fatalf("%d clients with %d credits before they are idle, want 1000 with %d", len(b.clients.by), b.used, used)
	}
	b.Tick(10*time.Second, load)
	if len(b.clients.by) != 1 || b.used != b.clients.by[7].credits {
		t.Errorf("%d clients with %d credits afterwards, want one with its own", len(b.clients.by), b.used)
	}
	// One that was forgotten while its request was inside is not in debt.
	b.Tick(time.Minute, load)
	b.Leave(time.Minute, &Request{Client: 7}, End{})
	b.Stamp(time.Minute, &Request{Client: 7}, new(Answer))
	if g := b.clients.by[7]; g == nil || g.open != 0 {
		t.Errorf("client 7 is %+v, want nothing open", g)
	}
	for client := range uint32(2 * maxGrantees) {
		b.Admit(time.Minute, &Request{Client: client}, load)
	}
	sum := 0
	for _, g := range b.clients.by {
		sum += g.credits
	}
	if len(b.clients.by) != maxGrantees || b.used != sum {
		t.Errorf("%d clients, %d credits in use and %d in all, want %d clients and as many as in use", len(b.clients.by), b.used, sum, maxGrantees)
	}
	if _, ok := b.clients.by[maxGrantees-1]; ok {
		t.Error("the client heard of first is still known")
	}
}
