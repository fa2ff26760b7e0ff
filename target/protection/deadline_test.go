package protection_test

import (
	"testing"
	"time"

	"knee/target/protection"
)

// busy is the load of a server with other work to do.
var busy = protection.Load{Waiting: 5, Running: 10, Admitted: 15, Workers: 10, QueuedCost: 5, CostRate: 1000}

func due(at time.Duration) *protection.Request {
	return &protection.Request{Cost: 1, Deadline: at, Expires: protection.Never}
}

func TestDeadlineAtDequeue(t *testing.T) {
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		now   time.Duration
		drop  bool
	}{
		{"no allowance, just before", map[string]any{"allowance": "0"}, 100*ms - 1, false},
		{"no allowance, at the deadline", map[string]any{"allowance": "0s"}, 100 * ms, true},
		{"allowance, exactly enough left", map[string]any{"allowance": "30ms"}, 70 * ms, false},
		{"allowance, 1 ns too late", map[string]any{"allowance": "30ms"}, 70*ms + 1, true},
		{"allowance and slack, enough left", map[string]any{"allowance": "30ms", "slack": 20 * ms}, 50 * ms, false},
		{"allowance and slack, too late", map[string]any{"allowance": "30ms", "slack": 20 * ms}, 50*ms + 1, true},
		{"slack alone", map[string]any{"allowance": "0", "slack": 20 * ms}, 80*ms + 1, true},
		{"90 of 100 ms waited, 10 needed", map[string]any{"allowance": "10ms"}, 90 * ms, false},
		{"70 of 100 ms waited, 60 needed", map[string]any{"allowance": "60ms"}, 70 * ms, true},
		{"quantile before any sample: the declared mean, enough left", nil, 90 * ms, false},
		{"quantile before any sample: the declared mean, too late", nil, 90*ms + 1, true},
		{"an allowance beyond the deadline", map[string]any{"allowance": "1h"}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := protection.Reason("")
			if tt.drop {
				want = protection.ReasonExpired
			}
			p := must(t, "deadline", tt.knobs)
			if got := p.(protection.Picker).Pick(tt.now, due(100*ms), busy); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestDeadlineSweeps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		want  time.Duration
	}{
		{"no allowance", map[string]any{"allowance": "0"}, 100 * ms},
		{"fixed", map[string]any{"allowance": "30ms"}, 70*ms + 1},
		{"fixed and slack", map[string]any{"allowance": "30ms", "slack": 5 * ms}, 65*ms + 1},
		{"estimated: what is certain", map[string]any{"slack": 5 * ms}, 95*ms + 1},
		{"estimated without slack", nil, 100 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := must(t, "deadline", tt.knobs)
			r := due(100 * ms)
			if reason := p.Admit(0, r, busy); reason != "" || r.Expires != tt.want || r.ExpiresBy != protection.ReasonExpired {
				t.Errorf("got %q, expires at %v by %q, want %v by expired", reason, r.Expires, r.ExpiresBy, tt.want)
			}
			if reason := p.Admit(tt.want, due(100*ms), busy); reason != protection.ReasonExpired {
				t.Errorf("arriving at %v: got %q, want expired", tt.want, reason)
			}
			if reason := p.Admit(tt.want-1, due(100*ms), busy); reason != "" {
				t.Errorf("arriving 1 ns sooner: got %q", reason)
			}
		})
	}
	r := due(protection.Never)
	p := must(t, "deadline", map[string]any{"allowance": "1s", "admit": true})
	if p.Admit(0, r, busy) != "" || r.Expires != protection.Never || p.(protection.Picker).Pick(time.Hour, r, busy) != "" {
		t.Error("a request without a deadline is not let alone")
	}
}

func TestDeadlineAtAdmission(t *testing.T) {
	wait := func(d time.Duration) protection.Load {
		return protection.Load{Waiting: 1, Running: 1, Admitted: 2, Workers: 1, QueuedCost: d.Seconds() * 1000, CostRate: 1000}
	}
	for _, tt := range []struct {
		name      string
		remaining time.Duration
		load      protection.Load
		want      protection.Reason
	}{
		{"30 ms left, 50 + 10 needed", 30 * ms, wait(10 * ms), protection.ReasonExpired},
		{"55 ms left, 50 + 10 needed", 55 * ms, wait(10 * ms), protection.ReasonHopeless},
		{"100 ms left, 50 + 40 needed", 100 * ms, wait(40 * ms), ""},
		{"100 ms left, 50 + 60 needed", 100 * ms, wait(60 * ms), protection.ReasonHopeless},
		{"exactly equal", 100 * ms, wait(50 * ms), ""},
		{"no rate", 100 * ms, protection.Load{Waiting: 1, Admitted: 1, QueuedCost: 1}, protection.ReasonHopeless},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := must(t, "deadline", map[string]any{"allowance": "50ms", "admit": true})
			if got := p.Admit(time.Second, due(time.Second+tt.remaining), tt.load); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := must(t, "deadline", map[string]any{"allowance": "50ms"}).Admit(0, due(100*ms), wait(time.Second)); got != "" {
		t.Errorf("without admit: %q", got)
	}
}

// learn has p see n requests served in d each, spread over two seconds from now.
func learn(p protection.Protection, now time.Duration, n int, d ...time.Duration) time.Duration {
	for i := range n {
		now += 2 * time.Second / time.Duration(n)
		r := due(protection.Never)
		p.Admit(now, r, busy)
		p.Leave(now, r, protection.End{Outcome: protection.Served, Served: d[i%len(d)]})
	}
	return now
}

// keeps returns the time that p keeps for serving, found by asking.
func keeps(p protection.Protection) time.Duration {
	low, high := time.Duration(0), time.Hour
	for low+1 < high {
		mid := (low + high) / 2
		r := due(2 * time.Hour)
		// Twice, since one request in a hundred passes as a probe.
		picker := p.(protection.Picker)
		first, second := picker.Pick(2*time.Hour-mid, r, busy), picker.Pick(2*time.Hour-mid, r, busy)
		p.Leave(0, r, protection.End{Outcome: protection.Dropped, Reason: "asked"})
		if first != "" || second != "" {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

func TestAllowanceIsMeasured(t *testing.T) {
	for _, tt := range []struct {
		allowance string
		samples   []time.Duration
		want      time.Duration
	}{
		{"p95", []time.Duration{10 * ms}, 10 * ms},
		{"mean", []time.Duration{10 * ms, 40 * ms}, 25 * ms},
		{"p50", []time.Duration{10 * ms, 40 * ms}, 10 * ms},
		{"p51", []time.Duration{10 * ms, 40 * ms}, 40 * ms},
		{"p75", []time.Duration{1 * ms, 2 * ms, 3 * ms, 4 * ms}, 3 * ms},
		{"p99.9", []time.Duration{1 * ms, 70 * ms}, 70 * ms},
	} {
		t.Run(tt.allowance, func(t *testing.T) {
			p := must(t, "deadline", map[string]any{"allowance": tt.allowance})
			learn(p, 0, 400, tt.samples...)
			if got := keeps(p); got < tt.want || got > tt.want+tt.want/32 {
				t.Errorf("keeps %v, want %v, or at most 1/32 more", got, tt.want)
			}
		})
	}
}

func TestFailedWorkTeachesNothing(t *testing.T) {
	p := must(t, "deadline", nil)
	for range 1000 {
		p.Leave(time.Hour, due(0), protection.End{Outcome: protection.Failed, Served: time.Second})
		p.Leave(time.Hour, due(0), protection.End{Outcome: protection.Dropped, Reason: "x"})
	}
	if got := keeps(p); got != 10*ms {
		t.Errorf("keeps %v, want the declared 10ms", got)
	}
}

func TestProbes(t *testing.T) {
	p := must(t, "deadline", nil)
	learn(p, 0, 400, 200*ms) // longer than anyone below waits
	picker := p.(protection.Picker)
	passed := 0
	for range 1000 {
		r := due(100 * ms)
		if picker.Pick(0, r, busy) == "" {
			passed++
		}
		p.Leave(0, r, protection.End{Outcome: protection.Served, Served: 200 * ms})
	}
	if passed != 10 {
		t.Errorf("%d of 1000 passed, want 1 in 100", passed)
	}
	if picker.Pick(0, due(100*ms), protection.Load{Workers: 10}) != "" {
		t.Error("a request that has the server for itself was dropped")
	}
	if picker.Pick(100*ms, due(100*ms), protection.Load{Workers: 10}) == "" {
		t.Error("a request was started at its deadline")
	}
	fixed := must(t, "deadline", map[string]any{"allowance": "200ms"}).(protection.Picker)
	for range 1000 {
		if fixed.Pick(0, due(100*ms), protection.Load{}) == "" {
			t.Fatal("a fixed allowance let a probe through")
		}
	}
}

// TestProbePassesBothLooks holds that a probe of admission is not dropped at dequeue.
func TestProbePassesBothLooks(t *testing.T) {
	p := must(t, "deadline", map[string]any{"admit": true})
	learn(p, 0, 400, 200*ms)
	for i := range 100 {
		r := due(100 * ms)
		if p.Admit(0, r, busy) != "" {
			continue
		}
		if i != 99 {
			t.Fatalf("request %d passed, want the hundredth", i)
		}
		if reason := p.(protection.Picker).Pick(0, r, busy); reason != "" {
			t.Errorf("the probe was dropped at dequeue: %s", reason)
		}
		return
	}
	t.Error("no probe passed")
}

func TestEstimateHeals(t *testing.T) {
	p := must(t, "deadline", nil)
	now := learn(p, 0, 400, time.Second)
	if got := keeps(p); got < time.Second {
		t.Fatalf("keeps %v, want 1s", got)
	}
	// Callers wait 100 ms and the server is fast again, at 1,000 arrivals a second.
	arrivals := 0
	for picker := p.(protection.Picker); ; arrivals++ {
		now += ms
		r := due(now + 100*ms)
		if p.Admit(now, r, busy) == "" && picker.Pick(now, r, busy) == "" {
			p.Leave(now, r, protection.End{Outcome: protection.Served, Served: 10 * ms})
		}
		if keeps(p) <= 11*ms || arrivals == 20_000 {
			break
		}
	}
	if arrivals > 6_000 {
		t.Errorf("healed after %d arrivals, want 50 probes or so", arrivals)
	}
}
