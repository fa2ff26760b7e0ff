package protection_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/protection"
)

func TestTokenBucket(t *testing.T) {
	type call struct {
		at   time.Duration
		pass bool
	}
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		calls []call
	}{
		{"10/s burst 5", map[string]any{"rate": 10.0, "burst": 5}, []call{
			{0, true},
			{0, true},
			{0, true},
			{0, true},
			{0, true},
			{0, false},
			{50 * ms, false},
			{99 * ms, false},
			{100 * ms, true},
			{150 * ms, false},
			{199 * ms, false},
			{200 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, false},
		}},
		{"time runs backwards", map[string]any{"rate": 10.0, "burst": 5}, []call{
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{1000 * ms, true},
			{500 * ms, true},
			{1000 * ms, false}, // the library alone has five tokens again
			{1100 * ms, true},
			{1100 * ms, false},
		}},
		{"burst by default: a tenth of a second", map[string]any{"rate": 20.0}, []call{{0, true}, {0, true}, {0, false}}},
		{"burst by default: at least 1", map[string]any{"rate": 0.5}, []call{{0, true}, {1999 * ms, false}, {2000 * ms, true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := must(t, "rate", tt.knobs)
			for i, c := range tt.calls {
				want := protection.ReasonRate
				if c.pass {
					want = ""
				}
				if got := admit(p, c.at, 1, protection.Load{}); got != want {
					t.Errorf("call %d at %v: got %q, want %q", i, c.at, got, want)
				}
			}
		})
	}
}

// gcra is the generic cell rate algorithm in whole nanoseconds.
type gcra struct {
	interval, tolerance, tat time.Duration
}

func (g *gcra) allow(now time.Duration) bool {
	next := max(now, g.tat) + g.interval
	if now < next-g.tolerance {
		return false
	}
	g.tat = next
	return true
}

// TestRateIsGCRA holds that the bucket lets in what GCRA does, at intervals that
// are whole nanoseconds: a burst of n here is one of n-1 there.
func TestRateIsGCRA(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		perSecond := rapid.SampledFrom([]int{1, 10, 250, 1000}).Draw(rt, "rate")
		burst := rapid.IntRange(1, 20).Draw(rt, "burst")
		interval := time.Second / time.Duration(perSecond)
		g := &gcra{interval: interval, tolerance: interval * time.Duration(burst)}
		p := must(t, "rate", map[string]any{"rate": float64(perSecond), "burst": burst})
		var now time.Duration
		for i := range 200 {
			// Never at the very nanosecond of a token, where a float64 and an integer may differ.
			now += time.Duration(rapid.IntRange(0, 20).Draw(rt, "gap")) * interval / 10
			at := now + time.Duration(i+1)*100
			if got, want := admit(p, at, 1, protection.Load{}) == "", g.allow(at); got != want {
				rt.Fatalf("call %d at %v: let in is %v, GCRA says %v", i, at, got, want)
			}
		}
	})
}

func TestTenantRate(t *testing.T) {
	at := func(p protection.Protection, now time.Duration, tenant string) protection.Reason {
		return p.Admit(now, &protection.Request{Cost: 1, Tenant: tenant, Expires: protection.Never}, protection.Load{})
	}
	t.Run("each has its own", func(t *testing.T) {
		p := must(t, "rate", map[string]any{"tenant_rate": 10.0, "tenant_burst": 2})
		for i, step := range []struct {
			at     time.Duration
			tenant string
			want   protection.Reason
		}{
			{0, "a", ""},
			{0, "a", ""},
			{0, "a", protection.ReasonTenantRate},
			{0, "b", ""},
			{0, "", ""},
			{99 * ms, "a", protection.ReasonTenantRate},
			{100 * ms, "a", ""},
			{50 * ms, "a", protection.ReasonTenantRate},
			{100 * ms, "a", protection.ReasonTenantRate}, // time runs backwards
		} {
			if got := at(p, step.at, step.tenant); got != step.want {
				t.Errorf("step %d: got %q, want %q", i, got, step.want)
			}
		}
	})
	t.Run("more than all may have", func(t *testing.T) { // quotas may add up to more than there is
		p := must(t, "rate", map[string]any{"rate": 10.0, "burst": 1, "tenant_rate": 8.0, "tenant_burst": 1})
		for i, step := range []struct {
			at     time.Duration
			tenant string
			want   protection.Reason
		}{
			{0, "a", ""}, {0, "b", protection.ReasonRate}, {100 * ms, "b", ""}, // the refusal cost b nothing
			{200 * ms, "b", protection.ReasonTenantRate}, {200 * ms, "a", ""}, // that of b cost nobody anything
		} {
			if got := at(p, step.at, step.tenant); got != step.want {
				t.Errorf("step %d: got %q, want %q", i, got, step.want)
			}
		}
	})
}

// rates offers so much a second of each tenant from from to to, and returns what
// was let in each second.
func rates(p protection.Protection, from, to time.Duration, offered map[string]int) map[string]float64 {
	in := map[string]float64{}
	const tick = 100 * time.Microsecond
	due := map[string]float64{}
	for now := from; now < to; now += tick {
		for _, tenant := range []string{"a", "b", "c", "d"} {
			for due[tenant] += float64(offered[tenant]) * tick.Seconds(); due[tenant] >= 1; due[tenant]-- {
				if p.Admit(now, &protection.Request{Cost: 1, Tenant: tenant}, protection.Load{}) == "" {
					in[tenant] += 1 / (to - from).Seconds()
				}
			}
		}
	}
	return in
}

// TestRateShares holds the vector of weighted borrowing: of 100/s, a has three
// parts and b one.
func TestRateShares(t *testing.T) {
	p := must(t, "rate", map[string]any{"rate": 100.0, "tenants": map[string]float64{"a": 3, "b": 1}})
	now := time.Duration(0)
	for _, tt := range []struct {
		name    string
		offered map[string]int
		want    map[string]float64
	}{
		{"both want more than there is", map[string]int{"a": 200, "b": 200}, map[string]float64{"a": 75, "b": 25}},
		{"only b", map[string]int{"b": 200}, map[string]float64{"b": 100}},
		{"a returns", map[string]int{"a": 200, "b": 200}, map[string]float64{"a": 75, "b": 25}},
		{"only a", map[string]int{"a": 200}, map[string]float64{"a": 100}},
		{"a wants less than its part", map[string]int{"a": 30, "b": 200}, map[string]float64{"a": 30, "b": 70}},
		{"b wants less than its part", map[string]int{"a": 200, "b": 10}, map[string]float64{"a": 90, "b": 10}},
		{"both want less", map[string]int{"a": 40, "b": 20}, map[string]float64{"a": 40, "b": 20}},
		{"one without a weight has weight 1", map[string]int{"a": 200, "b": 200, "c": 100}, map[string]float64{"a": 60, "b": 20, "c": 20}},
		{"only they", map[string]int{"c": 200}, map[string]float64{"c": 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const window = 10 * time.Second
			// A window of one second first, in which the bursts of those that rested go.
			rates(p, now, now+time.Second, tt.offered)
			got := rates(p, now+time.Second, now+window, tt.offered)
			now += window
			for tenant, want := range tt.want {
				if math.Abs(got[tenant]-want) > 0.5 {
					t.Errorf("%s has %.2f/s, want %v; all: %v", tenant, got[tenant], want, got)
				}
			}
		})
	}
}

// TestRateSharesAtOnce holds that a tenant that returns has its share within the
// window in which it does.
func TestRateSharesAtOnce(t *testing.T) {
	p := must(t, "rate", map[string]any{"rate": 100.0, "tenants": map[string]float64{"a": 3, "b": 1}})
	rates(p, 0, 10*time.Second, map[string]int{"b": 200})
	got := rates(p, 10*time.Second, 11*time.Second, map[string]int{"a": 200, "b": 200})
	if got["a"] < 75 || got["b"] < 23 || got["b"] > 27 {
		t.Errorf("in the second in which a returns, a has %.1f/s and b %.1f/s, want 75 and the burst, and 25", got["a"], got["b"])
	}
}

func TestRateSharesTimeRunsBackwards(t *testing.T) {
	p := must(t, "rate", map[string]any{"rate": 10.0, "burst": 2, "tenants": map[string]float64{"a": 1}})
	in := 0
	for range 100 {
		for _, now := range []time.Duration{time.Second, 0} {
			if p.Admit(now, of("a", 0), protection.Load{}) == "" {
				in++
			}
		}
	}
	if in != 1 {
		t.Errorf("%d let in at one instant, want half the burst", in)
	}
}

// TestRateSharesNeverMore holds that all tenants together have no more than the
// rate and the burst, whoever asks when, and no less while each asks often enough.
func TestRateSharesNeverMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		weights := map[string]float64{}
		for i := range rapid.IntRange(1, 4).Draw(rt, "tenants") {
			weights[fmt.Sprint(i)] = rapid.Float64Range(0.1, 10).Draw(rt, "weight")
		}
		const rate, burst = 100.0, 10
		p := must(t, "rate", map[string]any{"rate": rate, "burst": burst, "tenants": weights})
		var now time.Duration
		in := 0
		for range 300 {
			now += time.Duration(rapid.IntRange(-1, 40).Draw(rt, "gap")) * ms
			tenant := fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "tenant"))
			if p.Admit(max(0, now), &protection.Request{Cost: 1, Tenant: tenant}, protection.Load{}) == "" {
				in++
			}
			// Each bucket holds one token at least, whatever its share of the burst.
			if most := rate*(now+300*ms).Seconds() + burst + 5; float64(in) > most {
				rt.Fatalf("%d let in by %v, want at most %.0f", in, now, most)
			}
		}
	})
}

func TestRateSharesAllocateNothing(t *testing.T) {
	for name, knobs := range map[string]map[string]any{
		"shares":      {"rate": 100.0, "tenants": map[string]float64{"a": 3, "b": 1}},
		"tenant_rate": {"rate": 100.0, "tenant_rate": 50.0},
	} {
		p := must(t, "rate", knobs)
		r := of("a", 0)
		p.Admit(0, r, protection.Load{}) // a bucket for a new tenant
		now := time.Duration(0)
		if n := testing.AllocsPerRun(1000, func() {
			now += ms
			p.Admit(now, r, protection.Load{})
		}); n != 0 {
			t.Errorf("%s: %v allocations a request", name, n)
		}
	}
}
