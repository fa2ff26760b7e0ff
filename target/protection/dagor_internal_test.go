package protection

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func newTestDagor(t *testing.T, change func(*dagorKnobs)) *dagor {
	t.Helper()
	k := &dagorKnobs{
		Threshold: 20 * time.Millisecond, Window: time.Second, Requests: 2000,
		Alpha: 0.05, Beta: 0.01, Users: 16, Rehash: 0, Variant: dagorPaper,
	}
	if change != nil {
		change(k)
	}
	p, err := newDagor(Setup{Workers: 10, Service: 20 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 2))}, k)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*dagor)
}

// TestDagorSteps holds the paper's law on ten levels at which a hundred each arrive.
func TestDagorSteps(t *testing.T) {
	d := &dagor{alpha: 0.05, beta: 0.01, arrived: make([]int, 10), cursor: 9}
	for i := range d.arrived {
		d.arrived[i] = 100
	}
	d.all = 1000
	for _, tt := range []struct {
		name       string
		in         int
		overloaded bool
		want       int
	}{
		{"1000 let in, overloaded: 950", 1000, true, 8},
		{"900 let in, overloaded: 855", 900, true, 7},
		{"900 let in, healthy: 910", 900, false, 8},
		{"100 let in, overloaded: 95", 100, true, -1},
	} {
		d.unused = 0
		if d.in = tt.in; true {
			d.step(tt.overloaded)
		}
		if d.cursor != tt.want {
			t.Errorf("%s: cursor %d, want %d", tt.name, d.cursor, tt.want)
		}
	}
}

// TestDagorStepBoundary holds that the cursor takes a level that just fits, and that
// a step down leaves nothing over for the next one up.
func TestDagorStepBoundary(t *testing.T) {
	d := &dagor{alpha: 0.5, beta: 0.01, arrived: []int{100, 100, 100, 100}, cursor: 3, all: 400, in: 400, unused: 0.2}
	if d.step(true); d.cursor != 1 || d.unused != 0 {
		t.Errorf("cursor %d and %v over after half of 400, want 1 and nothing", d.cursor, d.unused)
	}
}

// TestDagorCursor holds that the level at the cursor is let in, and no other beyond.
func TestDagorCursor(t *testing.T) {
	d := newTestDagor(t, nil)
	for client := range uint32(1000) {
		r := &Request{Client: client, Criticality: Criticality(client % 4)}
		d.cursor = d.level(r)
		if reason := d.Admit(0, r, Load{}); reason != "" {
			t.Fatalf("level %d was refused at the cursor: %s", d.cursor, reason)
		}
		d.cursor--
		if reason := d.Admit(0, r, Load{}); reason != ReasonDagor {
			t.Fatalf("level %d was let in beyond the cursor", d.cursor+1)
		}
		d.all = 0
	}
}

// TestDagorComesBack holds that levels larger than beta do not keep the cursor
// where it is, and that no cursor is too low to come back from.
func TestDagorComesBack(t *testing.T) {
	d := &dagor{alpha: 0.05, beta: 0.01, arrived: make([]int, 10), cursor: -1}
	windows := 0
	for d.cursor < 9 {
		if windows++; windows > 200 {
			t.Fatalf("after 200 healthy windows the cursor is at %d", d.cursor)
		}
		for i := range d.arrived {
			d.arrived[i] = 100
		}
		d.all, d.in = 1000, 100*(d.cursor+1)
		d.step(false)
	}
	if windows < 98 || windows > 102 {
		t.Errorf("%d windows from none to all, want 100 of beta each", windows)
	}
}

// TestDagorScales holds caladan's law on its 64 levels from 32.
func TestDagorScales(t *testing.T) {
	d := newTestDagor(t, func(k *dagorKnobs) { k.Variant = dagorCaladan })
	if len(d.arrived) != 64 {
		t.Fatalf("%d levels, want 64", len(d.arrived))
	}
	d.share = 32
	for _, want := range []float64{30.4, 28.88, 27.436, 26.0642, 24.76099} {
		if d.scale(true); math.Abs(d.share-want) > 1e-4 || d.cursor != int(want)-1 {
			t.Errorf("%v levels and cursor %d, want %v", d.share, d.cursor, want)
		}
	}
	for i := 1; i <= 10; i++ {
		if d.scale(false); math.Abs(d.share-(24.76099+0.64*float64(i))) > 1e-4 {
			t.Errorf("%v levels after %d steps up", d.share, i)
		}
	}
	for range 100 {
		d.scale(false)
	}
	if d.cursor != 63 {
		t.Errorf("cursor %d in the end, want 63", d.cursor)
	}
}

// TestDagorWindows holds when the cursor moves.
func TestDagorWindows(t *testing.T) {
	const ms = time.Millisecond
	load := Load{Oldest: Never}
	late := func(d *dagor, now, waited time.Duration) {
		d.Pick(now, &Request{Arrived: now - waited}, load)
	}
	t.Run("after a second", func(t *testing.T) {
		d := newTestDagor(t, nil)
		d.Tick(0, load)
		d.Admit(100*ms, &Request{}, load)
		late(d, 200*ms, 50*ms)
		if next := d.Tick(999*ms, load); next != time.Second || d.cursor != 63 {
			t.Errorf("within the window: next look at %v, cursor %d", next, d.cursor)
		}
		if next := d.Tick(time.Second, load); next != 2*time.Second || d.cursor == 63 {
			t.Errorf("at its end: next look at %v, cursor %d", next, d.cursor)
		}
	})
	t.Run("after 2000 requests", func(t *testing.T) {
		d := newTestDagor(t, nil)
		late(d, 50*ms, 50*ms)
		for i := range 1999 {
			d.Admit(100*ms, &Request{Client: uint32(i)}, load)
		}
		if d.cursor != 63 {
			t.Errorf("cursor %d after 1999", d.cursor)
		}
		d.Admit(100*ms, &Request{}, load)
		if d.cursor == 63 {
			t.Error("the cursor has not moved after 2000")
		}
		if next := d.Tick(time.Second, load); next != 1100*ms {
			t.Errorf("next look at %v, want a second after the last", next)
		}
	})
	for _, tt := range []struct {
		name  string
		waits []time.Duration
		load  Load
		moves bool
	}{
		{"20ms on average", []time.Duration{10 * ms, 30 * ms}, load, false},
		{"more than 20ms on average", []time.Duration{10 * ms, 31 * ms}, load, true},
		{"the newest are served first, and the oldest waits", []time.Duration{0, 0}, Load{Waiting: 1, Oldest: 400 * ms}, true},
		{"none was started, and one waits", nil, Load{Waiting: 1, Oldest: 900 * ms}, true},
		{"none was started, and none waits", nil, load, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newTestDagor(t, nil)
			d.Admit(0, &Request{}, load)
			for _, w := range tt.waits {
				d.Pick(500*ms, &Request{Arrived: 500*ms - w}, tt.load)
			}
			d.Tick(time.Second, tt.load)
			if moved := d.cursor < 63; moved != tt.moves {
				t.Errorf("the cursor is at %d of 63", d.cursor)
			}
		})
	}
}

// TestDagorLevels holds that criticality goes before the client, that clients
// spread evenly, and that they change places when they are hashed anew.
func TestDagorLevels(t *testing.T) {
	d := newTestDagor(t, func(k *dagorKnobs) { k.Rehash = time.Hour })
	counts := make([]int, 64)
	changed := 0
	for client := range uint32(16_000) {
		d.last = 0
		level := d.level(&Request{Client: client, Criticality: Critical})
		counts[level]++
		d.last = time.Hour - 1
		if d.level(&Request{Client: client, Criticality: Critical}) != level {
			t.Fatal("a client changes its level within the hour")
		}
		d.last = time.Hour
		if d.level(&Request{Client: client, Criticality: Critical}) != level {
			changed++
		}
		if up := d.level(&Request{Client: client, Criticality: CriticalPlus}); up > 15 {
			t.Fatalf("critical_plus has level %d, want 0 to 15", up)
		}
		if down := d.level(&Request{Client: client, Criticality: Sheddable}); down < 48 {
			t.Fatalf("sheddable has level %d, want 48 to 63", down)
		}
	}
	for level, n := range counts {
		if in := level >= 16 && level < 32; in && (n < 850 || n > 1150) || !in && n != 0 {
			t.Errorf("level %d has %d clients; want about 1000 at 16 to 31, none elsewhere", level, n)
		}
	}
	if changed < 14_500 {
		t.Errorf("%d of 16000 have another level after an hour, want 15 of 16", changed)
	}
}
