package protection

import (
	"math"
	"testing"
	"time"
)

func newTestBBR(t *testing.T, change func(*bbrKnobs)) *bbr {
	t.Helper()
	i, err := Registry.Lookup("bbr")
	if err != nil {
		t.Fatal(err)
	}
	k := i.Knobs().(*bbrKnobs)
	if change != nil {
		change(k)
	}
	p, err := i.New(Setup{Workers: 10, Service: 50 * time.Millisecond}, k)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*bbr)
}

// serve ends n requests at now that took so long.
func (b *bbr) serve(n int, now, rtt time.Duration) {
	for range n {
		b.Leave(now, &Request{}, End{Waited: rtt / 2, Served: rtt - rtt/2})
	}
}

func TestBBRLimit(t *testing.T) {
	type bucket struct {
		pass int
		rtt  time.Duration
	}
	for _, tt := range []struct {
		name    string
		buckets []bucket
		want    int
	}{
		{"no data", nil, 1},
		{"100 in a bucket, 50ms, 10 buckets per second", []bucket{{100, 50 * time.Millisecond}}, 50},
		{"1000 in a bucket, 6ms", []bucket{{1000, 6 * time.Millisecond}}, 60},
		{"the most of one and the shortest of another", []bucket{{100, 80 * time.Millisecond}, {10, 50 * time.Millisecond}, {0, 0}}, 50},
		{"half is rounded up", []bucket{{15, 10 * time.Millisecond}}, 2},
		{"below half is rounded down", []bucket{{14, 10 * time.Millisecond}}, 1},
		{"a time that is not believed", []bucket{{100, time.Second}}, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newTestBBR(t, nil)
			var now time.Duration
			for _, x := range tt.buckets {
				b.serve(x.pass, now, x.rtt)
				for _, o := range []Outcome{Dropped, Failed} { // neither is goodput
					b.Leave(now, &Request{}, End{Outcome: o, Served: time.Millisecond})
				}
				if now == 0 && b.Limit() != 1 {
					t.Errorf("limit %d by a bucket that is not full, want 1", b.Limit())
				}
				now += 100 * time.Millisecond
			}
			if b.advance(now); b.Limit() != tt.want {
				t.Errorf("limit %d, want %d", b.Limit(), tt.want)
			}
			if b.advance(9900 * time.Millisecond); b.Limit() != tt.want {
				t.Errorf("limit %d when the first bucket is the oldest of the window, want %d", b.Limit(), tt.want)
			}
			if b.advance(10_200 * time.Millisecond); b.Limit() != 1 {
				t.Errorf("limit %d when all are older than the window, want 1", b.Limit())
			}
		})
	}
}

// TestBBRPressure holds how long it takes to be under pressure, and that a limit
// is in force only then and for the cool-off after the last refusal.
func TestBBRPressure(t *testing.T) {
	b := newTestBBR(t, nil)
	inside := Load{Running: 10, Workers: 10, Admitted: 2} // of a limit of 1
	looks := 0
	for b.Admit(b.last, &Request{}, inside) == "" {
		if looks++; looks > 100 {
			t.Fatal("it never refuses")
		}
		b.Tick(time.Duration(looks)*500*time.Millisecond, inside)
	}
	if looks != 32 { // 1 - 0.95^32 = 0.806
		t.Errorf("refuses after %d looks at busy workers, want 32", looks)
	}
	if b.Admit(b.last, &Request{}, Load{Admitted: 1}) != "" {
		t.Error("a second request is refused at a limit of 1: want one more than the limit")
	}
	if b.Admit(b.last, &Request{Protected: true}, inside) != "" {
		t.Error("a protected request was refused")
	}
	refused := b.last
	b.Tick(refused+time.Millisecond, Load{Workers: 10})
	if want := 0.95 * (1 - math.Pow(0.95, 32)); math.Abs(b.pressure-want) > 1e-9 {
		t.Fatalf("pressure %v after a look at idle workers, want %v", b.pressure, want)
	}
	for _, x := range []struct {
		at   time.Duration
		want Reason
	}{{500 * time.Millisecond, ReasonBBR}, {time.Second, ReasonBBR}, {time.Second + 1, ""}, {2 * time.Second, ""}} {
		if got := b.Admit(refused+x.at, &Request{}, inside); got != x.want {
			t.Errorf("%v after the last refusal under pressure: %q, want %q", x.at, got, x.want)
		}
	}
	was := b.pressure
	if b.Tick(b.last, Load{}); b.pressure <= was {
		t.Errorf("pressure %v after %v when there are no workers, want it to rise", b.pressure, was)
	}
}

// sleep offers so many requests at each step for a while, of work that takes 50ms
// however many are inside, and returns how many are let in.
func (b *bbr) sleep(n int, step, d time.Duration) (in int) {
	var ends []time.Duration
	for now := b.last; now < d; now += step {
		for len(ends) > 0 && ends[0] <= now {
			b.serve(1, ends[0], 50*time.Millisecond)
			ends = ends[1:]
		}
		for range n {
			if b.Admit(now, &Request{}, Load{Admitted: len(ends)}) == "" {
				ends = append(ends, now+50*time.Millisecond)
				in++
			}
		}
	}
	return in
}

// TestBBRTraps holds what a limit that is always in force makes of itself, and
// that min_limit and a threshold are what keeps it from that.
func TestBBRTraps(t *testing.T) {
	always := func(least int) func(*bbrKnobs) {
		return func(k *bbrKnobs) { k.Threshold, k.MinLimit = 0, least }
	}
	for _, tt := range []struct {
		name      string
		n         int
		step      time.Duration
		change    func(*bbrKnobs)
		low, high int // of 10000
	}{
		{"threshold 0, steady: it creeps up by one each bucket", 1, time.Millisecond, always(1), 5000, 8000},
		{"threshold 0, steady, with a floor", 1, time.Millisecond, always(50), 9900, 10_000},
		{"idle workers, steady", 1, time.Millisecond, nil, 10_000, 10_000},
		{"threshold 0, bursts: the limit is 1, so two of each hundred", 100, 100 * time.Millisecond, always(1), 200, 200},
		{"threshold 0, bursts, with a floor", 100, 100 * time.Millisecond, always(99), 10_000, 10_000},
		{"idle workers, bursts", 100, 100 * time.Millisecond, nil, 10_000, 10_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newTestBBR(t, tt.change)
			if in := b.sleep(tt.n, tt.step, 10*time.Second); in < tt.low || in > tt.high {
				t.Errorf("%d let in of 10000, want %d to %d; the limit is %d", in, tt.low, tt.high, b.Limit())
			}
		})
	}
}
