package protection_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/protection"
)

// picked returns what p says of a request that has waited for sojourn, with so
// many others waiting that came later.
func picked(p protection.Protection, now, sojourn time.Duration, others int) protection.Reason {
	l := protection.Load{Waiting: others, Workers: 1, Oldest: protection.Never, LastEmpty: now}
	if others > 0 {
		l.Oldest = now
	}
	return p.(protection.Picker).Pick(now, &protection.Request{Cost: 1, Arrived: now - sojourn}, l)
}

// drops asks p each step for a minute from from on, and returns when it drops, in
// milliseconds. As a server does, it asks about the next request at once.
func drops(p protection.Protection, from, step, sojourn time.Duration, others, n int) []int {
	var at []int
	for now := from; now < from+time.Minute && len(at) < n; now += step {
		for len(at) < n && picked(p, now, sojourn, others) != "" {
			at = append(at, int((now-from)/ms))
		}
	}
	return at
}

func TestCodelDropTimes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		knobs   map[string]any
		sojourn time.Duration
		others  int
		want    []int
	}{
		{"20 ms", nil, 20 * ms, 5, []int{100, 200, 271, 329, 379, 424, 464, 502}},
		{"exactly target", nil, 5 * ms, 5, []int{100, 200, 271, 329, 379, 424, 464, 502}},
		{"just below target", nil, 4999 * time.Microsecond, 5, nil},
		{"one is left behind", nil, 50 * ms, 1, nil},
		{"none is left behind", nil, 50 * ms, 0, nil},
		{"two are left behind", nil, 50 * ms, 2, []int{100, 200, 271, 329, 379, 424, 464, 502}},
		{"linux", map[string]any{"variant": "linux"}, 20 * ms, 5, []int{101, 201, 272, 330, 380, 425, 465, 503}},
		{"linux, one is left behind", map[string]any{"variant": "linux"}, 50 * ms, 1, nil},
		{"other knobs", map[string]any{"target": 20 * ms, "interval": 40 * ms}, 20 * ms, 5, []int{40, 80, 109, 132, 152, 170, 186, 201}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, from := range []time.Duration{0, time.Hour} {
				if got := drops(must(t, "codel", tt.knobs), from, ms, tt.sojourn, tt.others, 8); !slices.Equal(got, tt.want) {
					t.Errorf("from %v: drops at %v ms, want %v", from, got, tt.want)
				}
			}
		})
	}
}

// TestCodelReentry stops after six drops and looks at the pace of the next two.
func TestCodelReentry(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause time.Duration
		want  time.Duration
	}{
		{"soon after", 0, 44721 * time.Microsecond}, // 100 ms / √5
		{"just under 16 intervals after a drop was due", 1500 * ms, 44721 * time.Microsecond},
		{"just over", 1580 * ms, 100 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const step = 10 * time.Microsecond
			p := must(t, "codel", nil)
			n := 0
			now := time.Duration(0)
			for ; n < 6; now += step {
				if picked(p, now, 20*ms, 5) != "" {
					n++
				}
			}
			picked(p, now, 20*ms, 5) // the one delivered in place of the sixth
			picked(p, now, 0, 5)     // the queue was short for once
			now += tt.pause
			var at []time.Duration
			for ; len(at) < 2; now += step {
				if picked(p, now, 20*ms, 5) != "" {
					at = append(at, now)
				}
			}
			if got := at[1] - at[0]; got < tt.want || got > tt.want+2*step {
				t.Errorf("%v from the first drop to the second, want %v", got, tt.want)
			}
		})
	}
}

// TestCodelCatchesUp looks at several drops in one dequeue, late for the schedule.
func TestCodelCatchesUp(t *testing.T) {
	for variant, want := range map[string]int{"rfc8289": 4, "linux": 4} { // due at 201, 272, 330 and 380
		p := must(t, "codel", map[string]any{"variant": variant})
		picked(p, 0, 20*ms, 9)
		n := 0
		for picked(p, 101*ms, 20*ms, 9) != "" {
			n++
		}
		if n != 1 {
			t.Errorf("%s: %d drops as it begins, want 1: the next is delivered", variant, n)
		}
		for n = 0; picked(p, 400*ms, 20*ms, 9) != ""; n++ {
		}
		if n != want {
			t.Errorf("%s: %d drops in a dequeue at 400 ms, want %d", variant, n, want)
		}
	}
}

// TestCodelStopsInTheMiddle has the queue run out between two drops of one dequeue.
func TestCodelStopsInTheMiddle(t *testing.T) {
	p := must(t, "codel", nil)
	picked(p, 0, 20*ms, 9)
	picked(p, 100*ms, 20*ms, 9) // the first drop
	picked(p, 100*ms, 20*ms, 9) // delivered
	if picked(p, 400*ms, 20*ms, 2) == "" || picked(p, 400*ms, 20*ms, 1) != "" {
		t.Fatal("want a drop, then none with one left")
	}
	if got := drops(p, 401*ms, ms, 20*ms, 5, 1); !slices.Equal(got, []int{100}) {
		t.Errorf("the next drop comes after %v ms, want a new interval: 100", got)
	}
}

// TestCodelTimeRunsBackwards holds that an earlier instant counts as the latest seen.
func TestCodelTimeRunsBackwards(t *testing.T) {
	p := must(t, "codel", nil)
	picked(p, 100*ms, 0, 5)
	picked(p, 0, 20*ms, 5)
	if picked(p, 199*ms, 100*ms, 5) != "" || picked(p, 200*ms, 100*ms, 5) == "" {
		t.Error("want the first drop an interval after 100 ms")
	}
}

// TestCodelSeesTheOldest holds that an order that serves the newest first does not
// hide a standing queue.
func TestCodelSeesTheOldest(t *testing.T) {
	for _, variant := range []string{"rfc8289", "linux", "folly"} {
		t.Run(variant, func(t *testing.T) {
			p := must(t, "codel", map[string]any{"variant": variant})
			fresh, stale := 0, 0
			pick := func(now, sojourn time.Duration) bool {
				l := protection.Load{Waiting: 50, Workers: 1, Oldest: now - 300*ms}
				return p.(protection.Picker).Pick(now, &protection.Request{Arrived: now - sojourn}, l) != ""
			}
			for now := time.Second; now < 3*time.Second; now += ms {
				if pick(now, 0) {
					fresh++
				}
				if pick(now, 250*ms) {
					stale++
				}
			}
			switch {
			case fresh+stale == 0:
				t.Error("nothing was dropped, though the oldest waits 300 ms")
			case variant == "folly" && fresh > 0:
				t.Errorf("folly dropped %d that had not waited at all", fresh)
			}
		})
	}
}

// TestFollyCodelBasic is folly's own test of that name.
func TestFollyCodelBasic(t *testing.T) {
	p := must(t, "codel", map[string]any{"variant": "folly"})
	for i, step := range []struct {
		now, sojourn time.Duration
		drop         bool
	}{
		{110 * ms, 100 * ms, false},
		{200 * ms, 50 * ms, false}, // two at least in an interval before one is dropped
		{200 * ms, 50 * ms, true},
		{310 * ms, 2 * ms, false}, // overloaded, but 2 ms is not enough
		{400 * ms, 20 * ms, true},
	} {
		if got := picked(p, step.now, step.sojourn, 0) != ""; got != step.drop {
			t.Errorf("step %d: dropped is %v, want %v", i, got, step.drop)
		}
	}
}

func TestFollyCodelConstantSojourn(t *testing.T) {
	for sojourn, want := range map[time.Duration]int{4 * ms: 0, 5 * ms: 0, 6 * ms: 0, 10 * ms: 0, 11 * ms: 53, 20 * ms: 53} {
		p := must(t, "codel", map[string]any{"variant": "folly"})
		n, first := 0, time.Duration(0)
		for now := 10 * ms; now <= 600*ms; now += 10 * ms {
			if picked(p, now, sojourn, 0) == "" {
				continue
			}
			if n++; n == 1 {
				first = now
			}
		}
		if n != want || n > 0 && first != 30*ms {
			t.Errorf("%v each 10 ms: %d of 60 dropped, the first at %v; want %d, at 30ms", sojourn, n, first, want)
		}
	}
}

// TestFollyCodelAtTarget holds that a shortest sojourn of exactly target is not too long.
func TestFollyCodelAtTarget(t *testing.T) {
	for least, want := range map[time.Duration]bool{5 * ms: false, 5*ms + 1: true} {
		p := must(t, "codel", map[string]any{"variant": "folly"})
		dropped := false
		for now := 10 * ms; now <= 600*ms; now += 10 * ms {
			dropped = picked(p, now, least, 0) != "" || picked(p, now, 20*ms, 0) != "" || dropped
		}
		if dropped != want {
			t.Errorf("%v at least: dropped is %v, want %v", least, dropped, want)
		}
	}
}

// TestFollyCodelOfOneSample holds what is documented: an interval in which one
// request came, and had waited, is an overload for the next.
func TestFollyCodelOfOneSample(t *testing.T) {
	p := must(t, "codel", map[string]any{"variant": "folly"})
	picked(p, ms, 0, 0)
	picked(p, 2*ms, 0, 0)
	for i, step := range []struct {
		at   time.Duration
		drop bool
	}{{0, false}, {ms, false}, {150 * ms, false}, {300 * ms, false}, {301 * ms, true}} {
		if got := picked(p, time.Hour+step.at, 15*ms, 0) != ""; got != step.drop {
			t.Errorf("request %d, at %v: dropped is %v, want %v", i, step.at, got, step.drop)
		}
	}
}

// TestMaurerTimeouts holds the boundary: exactly an interval without being empty is
// not yet too long.
func TestMaurerTimeouts(t *testing.T) {
	for _, tt := range []struct {
		now, lastEmpty, want time.Duration
	}{
		{99900 * time.Microsecond, 0, 100 * ms},
		{100 * ms, 0, 100 * ms},
		{100*ms + 1, 0, 5 * ms},
		{100100 * time.Microsecond, 0, 5 * ms},
		{time.Hour, time.Hour, 100 * ms}, // after a rest: it is empty until now
		{time.Hour, time.Hour - 100*ms, 100 * ms},
	} {
		p := must(t, "codel", map[string]any{"variant": "maurer"})
		r := due(protection.Never)
		if reason := p.Admit(tt.now, r, protection.Load{LastEmpty: tt.lastEmpty}); reason != "" {
			t.Errorf("refused for %s: it decides later", reason)
		}
		if got := r.Expires - tt.now; got != tt.want || r.ExpiresBy != protection.ReasonCodel {
			t.Errorf("at %v, last empty at %v: may wait %v, want %v", tt.now, tt.lastEmpty, got, tt.want)
		}
	}
}

// TestCodelSparesProtected holds that the drop falls on the next in their place.
func TestCodelSparesProtected(t *testing.T) {
	for _, variant := range []string{"rfc8289", "linux", "folly", "maurer"} {
		p := must(t, "codel", map[string]any{"variant": variant})
		picker, picks := p.(protection.Picker)
		plain := 0
		for now := time.Second; now < 3*time.Second; now += ms {
			l := protection.Load{Waiting: 9, Oldest: now - 50*ms, LastEmpty: 0}
			r := &protection.Request{Arrived: now - 50*ms, Expires: protection.Never, Protected: true}
			p.Admit(now, r, l)
			if picks && picker.Pick(now, r, l) != "" || r.Expires != protection.Never {
				t.Fatalf("%s: a protected request was dropped at %v", variant, now)
			}
			r.Protected = false
			p.Admit(now, r, l)
			if picks && picker.Pick(now, r, l) != "" || r.Expires != protection.Never {
				plain++
			}
		}
		if plain == 0 {
			t.Errorf("%s: nothing was dropped at all", variant)
		}
	}
}

// TestCodelNeverStarves holds the rule of the last one left under all kinds of
// dequeues, and that time may stand still or run backwards.
func TestCodelNeverStarves(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		p := must(t, "codel", map[string]any{"variant": rapid.SampledFrom([]string{"rfc8289", "linux"}).Draw(rt, "variant")})
		now := time.Duration(0)
		for range 500 {
			now = max(0, now+time.Duration(rng.IntN(int(40*ms)))-5*ms)
			others := rng.IntN(4)
			sojourn := time.Duration(rng.IntN(int(30 * ms)))
			if reason := picked(p, now, sojourn, others); reason != "" && others <= 1 {
				rt.Fatalf("dropped with %d left", others)
			}
		}
	})
}
