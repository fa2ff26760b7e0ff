package protection

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

func testSetup() Setup {
	return Setup{Workers: 10, Service: 10 * ms, Classes: []string{"a", "b"}, Rand: rand.New(rand.NewPCG(3, 4))}
}

func newOf[T Protection](t *testing.T, make func(Setup, any) (Protection, error), knobs any) T {
	t.Helper()
	p, err := make(testSetup(), knobs)
	if err != nil {
		t.Fatal(err)
	}
	return p.(T)
}

// taught returns the limits published after each sample, times in milliseconds.
func taught(learn func(sample), limit func() int, samples ...sample) []int {
	var got []int
	for _, s := range samples {
		s.rtt *= float64(ms)
		learn(s)
		got = append(got, limit())
	}
	return got
}

func repeat(n int, s sample) []sample {
	return slices.Repeat([]sample{s}, n)
}

func TestAIMDVectors(t *testing.T) {
	knobs := aimdKnobs{Initial: 20, MinLimit: 20, MaxLimit: 200, Backoff: 0.9, Timeout: 5 * time.Second, PartitionKnobs: unshared}
	p := newOf[*aimd](t, newAIMD, &knobs)
	got := taught(p.learn, p.Limit, sample{1, 10, false}, sample{1, 10, false}, sample{1, 11, false}, sample{5000, 20, false}, sample{5000.000001, 20, false})
	if want := []int{21, 21, 22, 23, 20}; !slices.Equal(got, want) {
		t.Errorf("limits %v, want %v", got, want)
	}
	if got := taught(p.learn, p.Limit, sample{1, 20, true}); got[0] != 20 {
		t.Errorf("a drop at the lowest limit leads to %d, want 20", got[0])
	}
	if p.limit = 200; taught(p.learn, p.Limit, sample{1, 200, false})[0] != 200 {
		t.Errorf("from the highest limit it grew to %d", p.limit)
	}
	knobs.Initial, knobs.MinLimit = 100, 1
	p = newOf[*aimd](t, newAIMD, &knobs)
	got = taught(p.learn, p.Limit, repeat(12, sample{1, 1, true})...)
	if want := []int{90, 81, 72, 64, 57, 51, 45, 40, 36, 32, 28, 25}; !slices.Equal(got, want) {
		t.Errorf("after drops %v, want %v", got, want)
	}
	knobs.Initial = 30
	p = newOf[*aimd](t, newAIMD, &knobs)
	if got := taught(p.learn, p.Limit, sample{1, 1, true}); got[0] != 27 {
		t.Errorf("30 after a drop is %v, want 27", got)
	}
}

// upstreamVegas are the defaults of Netflix, which never probe in a short test.
func upstreamVegas(initial int) vegasKnobs {
	return vegasKnobs{Initial: initial, MinLimit: 1, MaxLimit: 1000, Smoothing: 1, ProbeMultiplier: 1000, Aggressive: true, MaxNoLoad: time.Hour, PartitionKnobs: unshared}
}

func TestVegasVectors(t *testing.T) {
	at := func(inside int, times ...float64) []sample {
		var s []sample
		for _, rtt := range times {
			s = append(s, sample{rtt, inside, false})
		}
		return s
	}
	readme := upstreamVegas(100)
	readme.Alpha, readme.Beta, readme.Step, readme.Aggressive = 3, 6, 1, false
	own := upstreamVegas(10)
	own.Alpha, own.Beta = 3, 6
	half := upstreamVegas(100)
	half.Decrease = 0.5
	smooth := half
	smooth.Smoothing = 0.5
	floor := half
	floor.MinLimit = 40
	eager := upstreamVegas(100)
	eager.Threshold = 5
	slow := half
	slow.Smoothing = 0.25
	capped := upstreamVegas(100)
	capped.MaxLimit = 105
	large := upstreamVegas(10_000)
	large.MaxLimit = 20_000
	for _, tt := range []struct {
		name    string
		knobs   vegasKnobs
		samples []sample
		want    []int
	}{
		{"falls by two at 100", upstreamVegas(100), at(100, 10, 20, 20, 20), []int{100, 98, 97, 96}},
		{"grows where the rule of thumb holds", upstreamVegas(100), at(100, 10, 10.4, 10.4), []int{100, 102, 104}},
		{"holds at ten waiting", upstreamVegas(100), at(100, 50, 55), []int{100, 100}},
		{"the rule of thumb", readme, at(100, 10, 20, 20, 10.4, 10.2), []int{100, 99, 98, 98, 99}},
		{
			"grows, falls, and falls by a drop", upstreamVegas(20),
			[]sample{{10, 20, false}, {10, 20, false}, {10, 26, false}, {12, 32, false}, {20, 32, false}, {20, 10, false}, {20, 1, true}},
			[]int{20, 26, 32, 32, 31, 31, 30},
		},
		{"its own test grows", own, at(11, 10, 10), []int{10, 16}},
		{"its own test falls", own, at(11, 10, 50), []int{10, 9}},
		{"half", half, at(100, 10, 50, 50), []int{100, 50, 25}},
		{"half, smoothed", smooth, at(100, 10, 50, 50), []int{100, 75, 56}},
		{"half, with a floor", floor, at(100, 10, 50, 50, 50), []int{100, 50, 40, 40}},
		{"grows by beta up to its own threshold, by step above", eager, at(100, 100, 105, 106), []int{100, 112, 112}},
		{"half, slowly", slow, at(100, 10, 50, 50), []int{100, 87, 76}},
		{"no more than the highest", capped, at(100, 10, 10, 10), []int{100, 105, 105}},
		{"just half used", upstreamVegas(100), at(50, 10, 10), []int{100, 112}},
		{"just not half used", upstreamVegas(100), at(49, 10, 10), []int{100, 100}},
		{"large, half unused", large, []sample{{10, 4999, false}, {10, 4999, false}}, []int{10_000, 10_000}},
		{"large", large, []sample{{10, 6000, false}, {10, 6000, false}}, []int{10_000, 10_024}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newOf[*vegas](t, newVegas, &tt.knobs)
			if got := taught(p.learn, p.Limit, tt.samples...); !slices.Equal(got, tt.want) {
				t.Errorf("limits %v, want %v", got, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		rtt  float64
		want int
	}{
		{100.5, 112}, {101, 112}, {102, 112}, {103, 102}, {105, 102}, {106, 100}, {110, 100}, {113, 100}, {113.7, 98}, {114, 98}, {115, 98},
	} {
		knobs := upstreamVegas(100)
		p := newOf[*vegas](t, newVegas, &knobs)
		if got := taught(p.learn, p.Limit, at(100, 100, tt.rtt)...); got[1] != tt.want {
			t.Errorf("one sample of %v ms leads to %d, want %d", tt.rtt, got[1], tt.want)
		}
	}
}

func TestLog10RootIsWhole(t *testing.T) {
	for limit, want := range map[float64]float64{0: 1, 1: 1, 99: 1, 100: 2, 999.9: 2, 1000: 3, 9999: 3, 10_000: 4} {
		if got := log10root(limit); got != want {
			t.Errorf("of %v it is %v, want %v", limit, got, want)
		}
	}
}

// TestVegasProbes holds that the quickest time is measured anew, as upstream, but
// no longer believed whatever it is.
func TestVegasProbes(t *testing.T) {
	knobs := upstreamVegas(20)
	knobs.ProbeMultiplier = 1
	p := newOf[*vegas](t, newVegas, &knobs)
	taught(p.learn, p.Limit, repeat(40, sample{10, 1, false})...)
	taught(p.learn, p.Limit, repeat(40, sample{50, 1, false})...)
	if got := p.noLoad; got != float64(50*ms) {
		t.Errorf("after a probe the quickest time is %v, want 50ms", time.Duration(got))
	}
	knobs.MaxNoLoad = 0 // twice the declared 10 ms
	p = newOf[*vegas](t, newVegas, &knobs)
	taught(p.learn, p.Limit, repeat(80, sample{50, 1, false})...)
	if got := p.noLoad; got != float64(20*ms) {
		t.Errorf("of a server that was slow from the start %v is believed, want 20ms", time.Duration(got))
	}
}

// TestVegasProbesByLot holds when the quickest time is measured anew: after the
// product of a number from a half to one, drawn anew each time, the multiplier and
// the limit.
func TestVegasProbesByLot(t *testing.T) {
	knobs := upstreamVegas(20)
	knobs.ProbeMultiplier = 2
	first, second := map[int]bool{}, map[int]bool{}
	differ := 0
	for seed := range uint64(200) {
		s := testSetup()
		s.Rand = rand.New(rand.NewPCG(seed, 1))
		made, err := newVegas(s, &knobs)
		if err != nil {
			t.Fatal(err)
		}
		p := made.(*vegas)
		next := func() int { // samples up to the next probe
			for n := 1; n < 100; n++ {
				if n == 2 {
					taught(p.learn, p.Limit, sample{10, 1, false})
					continue
				}
				if taught(p.learn, p.Limit, sample{50, 1, false}); n > 2 && p.noLoad > float64(10*ms) {
					return n
				}
			}
			return 0
		}
		a, b := next(), next()
		first[a], second[b] = true, true
		if a != b {
			differ++
		}
	}
	for i, after := range []map[int]bool{first, second} {
		all := slices.Sorted(maps.Keys(after))
		if low, high := all[0], all[len(all)-1]; low < 20 || low > 22 || high > 40 || high < 38 {
			t.Errorf("probe %d comes after %d to %d samples, want 20 to 40", i+1, low, high)
		}
	}
	if differ < 150 {
		t.Errorf("in %d of 200 the second probe came after another number than the first: want nearly all", differ)
	}
}

func upstreamGradient2(initial int) gradient2Knobs {
	return gradient2Knobs{
		Initial: initial, MinLimit: 1, MaxLimit: 1000, Smoothing: 0.2, QueueSize: 4, LongWindow: 600, Tolerance: 1.5,
		MaxNoLoad: time.Hour, PartitionKnobs: unshared,
	}
}

func TestGradient2Vectors(t *testing.T) {
	knobs := upstreamGradient2(100)
	p := newOf[*gradient2](t, newGradient2, &knobs)
	for _, tt := range []struct {
		samples []sample
		want    []int
	}{
		{repeat(10, sample{10, 100, false}), []int{100, 101, 102, 103, 104, 104, 105, 106, 107, 108}},
		{repeat(8, sample{20, 200, false}), []int{103, 99, 95, 91, 87, 84, 81, 78}},
		{repeat(6, sample{10, 200, false}), []int{79, 80, 80, 81, 82, 83}},
	} {
		if got := taught(p.learn, p.Limit, tt.samples...); !slices.Equal(got, tt.want) {
			t.Errorf("limits %v, want %v", got, tt.want)
		}
	}

	// Past the warm-up, from 100.
	p = newOf[*gradient2](t, newGradient2, &knobs)
	taught(p.learn, p.Limit, repeat(10, sample{10, 1, false})...)
	got := taught(p.learn, p.Limit, append(repeat(5, sample{20, 200, false}), repeat(5, sample{100, 200, true})...)...)
	if want := []int{95, 91, 88, 84, 81, 74, 67, 61, 56, 51}; !slices.Equal(got, want) {
		t.Errorf("limits %v, want %v", got, want)
	}

	// Half unused: the limit stays, whatever the samples say.
	knobs.Initial = 20
	p = newOf[*gradient2](t, newGradient2, &knobs)
	got = taught(p.learn, p.Limit, append(repeat(3, sample{10, 9, false}), repeat(3, sample{10, 10, false})...)...)
	if want := []int{20, 20, 20, 20, 20, 20}; !slices.Equal(got, want) || math.Abs(p.limit-20.8) > 1e-9 {
		t.Errorf("limits %v and %v, want %v and 20.8", got, p.limit, want)
	}
}

// TestGradient2LongAverage holds that the long-term average falls faster when the
// load has gone, and that what is not believed is not kept either.
func TestGradient2LongAverage(t *testing.T) {
	const weight = 2.0 / 601
	for _, tt := range []struct {
		name  string
		bound time.Duration
		then  float64 // ms
		want  float64
	}{
		{"just not half", time.Hour, 5, 10*(1-weight) + 5*weight},
		{"less than half", time.Hour, 4.9, 0.95 * (10*(1-weight) + 4.9*weight)},
		{"bounded", 8 * ms, 10, 8},
		{"bounded, and less than half of that", 8 * ms, 3.9, 0.95 * (8*(1-weight) + 3.9*weight)},
	} {
		knobs := upstreamGradient2(100)
		knobs.MaxNoLoad = tt.bound
		p := newOf[*gradient2](t, newGradient2, &knobs)
		taught(p.learn, p.Limit, append(repeat(10, sample{10, 1, false}), sample{tt.then, 1, false})...)
		if got := p.long.value / float64(ms); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v ms, want %v", tt.name, got, tt.want)
		}
	}
	knobs := upstreamGradient2(100)
	knobs.MaxLimit = 102
	p := newOf[*gradient2](t, newGradient2, &knobs)
	if got := taught(p.learn, p.Limit, repeat(6, sample{10, 100, false})...); got[5] != 102 {
		t.Errorf("limits %v, want at most 102", got)
	}
	knobs.Smoothing, knobs.Initial, knobs.QueueSize, knobs.MaxLimit = 0.25, 100, 3, 1000
	p = newOf[*gradient2](t, newGradient2, &knobs)
	if got := taught(p.learn, p.Limit, sample{10, 100, false}); got[0] != 100 || p.limit != 100.75 {
		t.Errorf("%v, published as %d: want 100.75 and 100", p.limit, got[0])
	}
}

func TestExponentialAverage(t *testing.T) {
	a := expAverage{window: 600}
	for range 10 {
		a.add(10)
	}
	a.add(20)
	if math.Abs(a.value-10.033278) > 1e-6 {
		t.Errorf("of 10 and then 20 it is %v, want 10.033278", a.value)
	}
	a = expAverage{window: 100}
	for v := 10.0; v < 20; v++ {
		a.add(v)
	}
	if a.value != 14.5 {
		t.Errorf("of 10 to 19 it is %v, want 14.5", a.value)
	}
	if a.add(100); math.Abs(a.value-16.193) > 1e-3 {
		t.Errorf("and of 100 %v, want 16.193", a.value)
	}
}

// TestALastingOverloadIsNotTakenForHealth starts at twice what the server can do:
// every request takes 40 ms where the declared 10 would do.
func TestALastingOverloadIsNotTakenForHealth(t *testing.T) {
	grown := func(bound time.Duration) (int, int) {
		v, g := upstreamVegas(20), upstreamGradient2(20)
		v.MaxNoLoad, g.MaxNoLoad = bound, bound
		vegas, gradient := newOf[*vegas](t, newVegas, &v), newOf[*gradient2](t, newGradient2, &g)
		samples := repeat(200, sample{40, 500, false})
		taught(vegas.learn, vegas.Limit, samples...)
		taught(gradient.learn, gradient.Limit, samples...)
		return vegas.Limit(), gradient.Limit()
	}
	if v, g := grown(time.Hour); v <= 20 || g <= 20 {
		t.Errorf("as upstream the limits are %d and %d: want both grown, or this test shows nothing", v, g)
	}
	if v, g := grown(0); v >= 20 || g >= 20 {
		t.Errorf("with a bound on what is believed they are %d and %d, want both below 20", v, g)
	}
}

func windowOf(t *testing.T, shortest, longest time.Duration) sampleWindow {
	t.Helper()
	w, err := WindowKnobs{Window: shortest, MaxWindow: longest}.build()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSampleWindowLength holds that a window is twice the shortest time of the one
// before, within the bounds, and ends with the first sample after that.
func TestSampleWindowLength(t *testing.T) {
	for _, tt := range []struct {
		name    string
		quick   time.Duration
		longest time.Duration
		want    time.Duration
	}{
		{"twice the shortest", 150 * ms, time.Second, 300 * ms},
		{"no shorter than window", 10 * ms, time.Second, 100 * ms},
		{"no longer than max_window", 700 * ms, time.Second, time.Second},
		{"one length", 700 * ms, 0, 100 * ms},
	} {
		w := windowOf(t, 100*ms, tt.longest)
		slower, quick := sample{rtt: float64(tt.quick + ms)}, sample{rtt: float64(tt.quick)}
		w.add(1, slower) // the first window is of one sample
		end := w.next + 1
		for _, s := range []sample{slower, slower, quick} {
			w.add(end, s) // the second closes with the first of these
		}
		if end = w.next; end == 0 {
			t.Fatal("no window")
		}
		w.add(end+1, slower) // and the third, whose shortest is the second of three
		if got := w.next - (end + 1); got != tt.want {
			t.Errorf("%s: a window of %v, want %v", tt.name, got, tt.want)
		}
		end = w.next
		for range 9 {
			w.add(end, slower)
		}
		if s, ok := w.add(end, slower); ok {
			t.Errorf("%s: %+v at its end, want nothing until after that", tt.name, s)
		}
		if s, ok := w.add(end+1, quick); !ok || s.rtt != (10*slower.rtt+quick.rtt)/11 {
			t.Errorf("%s: %+v (%v) after its end, want the average", tt.name, s, ok)
		}
	}
}

// TestSampleWindowNeedsTen holds how many samples make a window, and how short one
// may be to be one.
func TestSampleWindowNeedsTen(t *testing.T) {
	for n, want := range map[int]bool{9: false, 10: true} {
		for _, rtt := range []time.Duration{100 * time.Microsecond, 100*time.Microsecond - 1} {
			w := windowOf(t, 100*ms, 0)
			w.add(1, sample{rtt: float64(rtt)})
			for range n - 1 {
				w.add(50*ms, sample{rtt: float64(rtt)})
			}
			_, got := w.add(time.Second, sample{rtt: float64(rtt)})
			if want := want && rtt == 100*time.Microsecond; got != want {
				t.Errorf("%d samples of %v: a sample %v, want %v", n, rtt, got, want)
			}
		}
	}
}

func TestSampleWindow(t *testing.T) {
	w := windowOf(t, time.Second, 0)
	var got []string
	for i := range 300 {
		start := time.Duration(10*i) * ms
		rtt := time.Duration(5+i%3) * ms
		if s, ok := w.add(start+rtt, sample{rtt: float64(rtt), inside: i % 40, dropped: i == 57}); ok {
			got = append(got, fmt.Sprintf("%v %v %d %v", start, time.Duration(s.rtt), s.inside, s.dropped))
		}
	}
	if want := []string{"1s 6ms 39 true", "2s 6.01ms 39 false"}; !slices.Equal(got, want) {
		t.Errorf("samples %q, want %q", got, want)
	}
	w = windowOf(t, time.Second, 0)
	for i := range 10_000 {
		if _, ok := w.add(time.Duration(i)*ms, sample{rtt: 99_999, inside: 1}); ok {
			t.Fatal("a request of less than 100 µs taught something")
		}
	}
}

func TestLittle(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		time time.Duration
		want int
	}{{4000, 50 * ms, 200}, {8000, 25 * ms, 200}, {1, ms, 1}, {333, 10 * ms, 4}, {100, 70 * ms, 7}, {0.001, 1, 1}} {
		p := newOf[*limit](t, newLimit, &limitKnobs{Rate: tt.rate, Time: tt.time, PartitionKnobs: unshared})
		if got := p.Limit(); got != tt.want {
			t.Errorf("%v/s for %v make a limit of %d, want %d", tt.rate, tt.time, got, tt.want)
		}
	}
	for _, k := range []limitKnobs{{Rate: 10}, {Time: ms}, {Limit: 3, Rate: 10, Time: ms}, {Rate: -1, Time: ms}} {
		k.PartitionKnobs = unshared
		if _, err := newLimit(testSetup(), &k); err == nil {
			t.Errorf("%+v is taken", k)
		}
	}
}

// let offers requests until one is refused and returns how many came in.
func let(g *gate, limit int, inside *int, r Request) int {
	for n := range 1000 {
		if !g.admit(&r, *inside, limit) {
			return n
		}
		*inside++
	}
	return -1
}

func TestPartitions(t *testing.T) {
	of := func(strict bool, shares map[string]float64) *gate {
		g, err := PartitionKnobs{Partitions: shares, PartitionBy: byTenant, Strict: strict}.build(testSetup())
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	batch, live, other := Request{Tenant: "batch"}, Request{Tenant: "live"}, Request{Tenant: "?"}
	for _, tt := range []struct {
		name   string
		shares map[string]float64
		strict bool
		limit  int
		want   [3]int // batch first, then live, then another
	}{
		{"as upstream", map[string]float64{"batch": 0.3, "live": 0.7}, false, 10, [3]int{10, 7, 0}},
		{"90/10 of 11", map[string]float64{"live": 0.9, "batch": 0.1}, false, 11, [3]int{11, 10, 0}},
		{"90/10 of 3", map[string]float64{"live": 0.9, "batch": 0.1}, false, 3, [3]int{3, 3, 0}},
		{"strict", map[string]float64{"batch": 0.3, "live": 0.7}, true, 10, [3]int{3, 7, 0}},
		{"strict with room for others", map[string]float64{"batch": 0.3, "live": 0.5}, true, 10, [3]int{5, 5, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, inside := of(tt.strict, tt.shares), 0
			got := [3]int{let(g, tt.limit, &inside, batch), let(g, tt.limit, &inside, live), let(g, tt.limit, &inside, other)}
			if got != tt.want {
				t.Errorf("let in %v, want %v", got, tt.want)
			}
			if tt.strict && inside > tt.limit {
				t.Errorf("%d are inside, above the limit of %d", inside, tt.limit)
			}
		})
	}

	g, inside := of(false, map[string]float64{"live": 0.9, "batch": 0.1}), 0
	let(g, 11, &inside, batch)
	for range 9 { // batch goes below its part of 2
		g.leave(&batch)
		inside--
	}
	if n := let(g, 11, &inside, live); n != 10 {
		t.Errorf("live gets %d, want its part of 10", n)
	}
	if n := let(g, 11, &inside, batch); n != 0 {
		t.Errorf("batch, which has its 2, gets %d more", n)
	}
}

func TestPartitionLimit(t *testing.T) {
	for _, tt := range []struct {
		all   int
		share float64
		want  int
	}{
		{11, 0.9, 10},
		{11, 0.1, 2},
		{3, 0.9, 3},
		{3, 0.1, 1},
		{10, 0.3, 3},
		{10, 0.7, 7},
		{10, 0.01, 1},
		{10, 1, 10},
		{100, 0.07, 7}, // which is a little above 7 in floating point
		{10, 0, 0},     // what is not named has nothing of its own
	} {
		p := partition{share: tt.share}
		if got := p.limit(tt.all); got != tt.want {
			t.Errorf("%v of %d is %d, want %d", tt.share, tt.all, got, tt.want)
		}
	}
}

// TestPartitionsProperties lets requests of partitions come and go under a limit
// that changes, and holds what is promised: below the limit, or within its share, a
// request comes in. With strict it has to be below the limit, and within its share
// or in no place that others have not used of theirs.
func TestPartitionsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := map[string]float64{}
		left := 1.0
		for _, name := range []string{"a", "b", "c"} {
			if share := rapid.Float64Range(0, left).Draw(t, name); share > 0 {
				shares[name], left = share, left-share
			}
		}
		strict := rapid.Bool().Draw(t, "strict")
		g, err := PartitionKnobs{Partitions: shares, PartitionBy: byTenant, Strict: strict}.build(testSetup())
		if err != nil {
			t.Fatal(err)
		}
		if len(shares) == 0 {
			t.Skip("no partitions")
		}
		part := func(name string, limit int) int { return (&partition{share: shares[name]}).limit(limit) }
		limit, inside := 10, map[string]int{}
		all := func() (n int) {
			for _, x := range inside {
				n += x
			}
			return n
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c", "another"}).Draw(t, "tenant")
			r := &Request{Tenant: name}
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				limit = rapid.IntRange(1, 40).Draw(t, "limit")
			case 1, 2, 3:
				if inside[name] > 0 {
					g.leave(r)
					inside[name]--
				}
			default:
				before := all()
				free := limit - before // for this one, if it takes no more than the others leave
				for other := range shares {
					if other != name {
						free -= max(0, part(other, limit)-inside[other])
					}
				}
				own := inside[name] < part(name, limit)
				want := before < limit || own
				if strict {
					want = before < limit && (own || free > 0)
				}
				if got := g.admit(r, before, limit); got != want {
					t.Fatalf("%s, with %v inside under a limit of %d: let in %v, want %v", name, inside, limit, got, want)
				} else if got {
					inside[name]++
				}
			}
			for name, n := range inside {
				if p := g.of(&Request{Tenant: name}); name != "another" && shares[name] > 0 && p.inside != n {
					t.Fatalf("%d of %s are inside, want %d", p.inside, name, n)
				}
			}
		}
	})
}

func TestPartitionsByClassAndCriticality(t *testing.T) {
	for _, tt := range []struct {
		by    string
		names []string
		first Request // the one that is named
		bad   string
	}{
		{"class", []string{"b"}, Request{Class: 1}, "c"},
		{"criticality", []string{"sheddable"}, Request{Criticality: Sheddable}, "urgent"},
	} {
		knobs := PartitionKnobs{Partitions: map[string]float64{tt.names[0]: 0.5}, PartitionBy: tt.by}
		g, err := knobs.build(testSetup())
		if err != nil {
			t.Fatal(err)
		}
		inside := 0
		let(g, 10, &inside, Request{Class: 0, Criticality: Critical})
		if n := let(g, 10, &inside, tt.first); n != 5 {
			t.Errorf("by %s: the named one gets %d, want its half of 10", tt.by, n)
		}
		if g.Needs() != "the "+tt.by {
			t.Errorf("it needs %q", g.Needs())
		}
		knobs.Partitions = map[string]float64{tt.bad: 0.5}
		if _, err := knobs.build(testSetup()); err == nil {
			t.Errorf("by %s: %s is taken", tt.by, tt.bad)
		}
	}
	for _, by := range []string{"class", "criticality"} { // of what nobody named
		g, err := PartitionKnobs{Partitions: map[string]float64{map[string]string{"class": "a", "criticality": "sheddable"}[by]: 0.5}, PartitionBy: by}.build(testSetup())
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Class: 7, Criticality: 200}
		if g.admit(&r, 10, 10) || !g.admit(&r, 9, 10) {
			t.Errorf("by %s: one that is not known does not have what the others leave, and that alone", by)
		}
	}
	for _, shares := range []map[string]float64{{"a": 0}, {"a": 1.5}, {"a": math.Inf(1)}, {"a": 0.6, "b": 0.5}, {"a": math.NaN()}} {
		if _, err := (PartitionKnobs{Partitions: shares, PartitionBy: byTenant}).build(testSetup()); err == nil {
			t.Errorf("%v is taken", shares)
		}
	}
}

// TestWhatTeaches holds which ends are samples and which of them count as dropped.
func TestWhatTeaches(t *testing.T) {
	for _, tt := range []struct {
		name   string
		inside int
		end    End
		want   int // the limit afterwards, of 30
	}{
		{"refused by a later link: it was never inside", 0, End{Outcome: Dropped, Reason: "later", Waited: ms}, 30},
		{"dropped from the queue", 1, End{Outcome: Dropped, Reason: "expired", Waited: ms}, 27},
		{"failed", 1, End{Outcome: Failed, Waited: ms, Served: ms}, 27},
		{"served", 15, End{Waited: ms, Served: ms}, 31},
		{"served, half unused", 14, End{Waited: ms, Served: ms}, 30},
		{"waited for too long", 15, End{Waited: 50 * ms, Served: ms}, 27},
		{"was served for too long", 15, End{Waited: ms, Served: 50 * ms}, 27},
		{"just not too long", 15, End{Waited: 30 * ms, Served: 20 * ms}, 31},
		{"took no time", 1, End{Outcome: Dropped}, 30},
	} {
		p := newOf[*aimd](t, newAIMD, &aimdKnobs{Initial: 30, MinLimit: 1, MaxLimit: 200, Backoff: 0.9, PartitionKnobs: unshared})
		r := &Request{InFlight: tt.inside}
		p.Admit(0, r, Load{})
		p.Leave(tt.end.Waited+tt.end.Served, r, tt.end)
		if p.Limit() != tt.want {
			t.Errorf("%s: the limit is %d, want %d", tt.name, p.Limit(), tt.want)
		}
	}
}
