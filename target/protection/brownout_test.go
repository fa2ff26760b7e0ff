package protection_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"knee/target/protection"
)

// degrades reports whether p gives the cheaper answer now.
func degrades(p protection.Protection, now time.Duration) bool {
	r := &protection.Request{Cost: 1, Expires: protection.Never}
	return p.Admit(now, r, protection.Load{}) == "" && r.Degraded
}

// TestBrownoutSwitch has a setpoint of 1 s and a load of one thousandth for each
// request that waits.
func TestBrownoutSwitch(t *testing.T) {
	type look struct {
		at   time.Duration
		load float64
		want bool
	}
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		looks []look
	}{
		{"hysteresis", nil, []look{{0, 0.79, false}, {10 * ms, 0.80, true}, {20 * ms, 0.65, true}, {30 * ms, 0.60, false}, {40 * ms, 0.79, false}}},
		{"on after high_for", map[string]any{"high_for": 30 * ms}, []look{
			{0, 0.9, false}, {10 * ms, 0.9, false}, {20 * ms, 0.7, false}, // not in one go
			{30 * ms, 0.8, false}, {50 * ms, 0.8, false}, {60 * ms, 0.8, true},
		}},
		{"off after low_for", map[string]any{"low_for": 30 * ms}, []look{
			{0, 0.9, true}, {10 * ms, 0.6, true}, {20 * ms, 0.61, true}, {30 * ms, 0.5, true}, {50 * ms, 0.5, true}, {60 * ms, 0.5, false},
		}},
		{"no earlier than dwell", map[string]any{"dwell": 100 * ms}, []look{
			{0, 0.9, true}, {10 * ms, 0, true}, {90 * ms, 0, true}, {100 * ms, 0, false}, {110 * ms, 0.9, false}, {190 * ms, 0.9, false}, {200 * ms, 0.9, true},
		}},
		{"dwell and low_for run at once", map[string]any{"dwell": 100 * ms, "low_for": 60 * ms}, []look{
			{0, 0.9, true}, {30 * ms, 0, true}, {90 * ms, 0, true}, {100 * ms, 0, false},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			knobs := map[string]any{"setpoint": time.Second, "high": 0.8, "low": 0.6, "period": 10 * ms, "high_for": time.Duration(0), "low_for": time.Duration(0), "dwell": time.Duration(0)}
			for k, v := range tt.knobs {
				knobs[k] = v
			}
			p := must(t, "brownout", knobs)
			for _, l := range tt.looks {
				load := protection.Load{Waiting: int(math.Round(l.load * 1000)), QueuedCost: math.Round(l.load * 1000), CostRate: 1000}
				if next := p.(protection.Ticker).Tick(l.at, load); next != l.at+10*ms {
					t.Errorf("at %v it wants to look again at %v", l.at, next)
				}
				if got := degrades(p, l.at); got != l.want {
					t.Fatalf("at %v and load %.2f on is %v, want %v", l.at, l.load, got, l.want)
				}
			}
		})
	}
}

func TestBrownoutSparesTheProtected(t *testing.T) {
	for _, mode := range []string{"switch", "dimmer"} {
		p := must(t, "brownout", map[string]any{"mode": mode, "gain": 1.0})
		ticker := p.(protection.Ticker)
		for i := range 100 {
			p.Leave(0, nil, protection.End{Waited: time.Minute})
			ticker.Tick(time.Duration(i)*50*ms, waiting(time.Minute))
		}
		if !degrades(p, time.Minute) {
			t.Fatalf("%s: nothing is degraded, so this says nothing", mode)
		}
		r := &protection.Request{Protected: true, Expires: protection.Never}
		if p.Admit(time.Minute, r, protection.Load{}); r.Degraded {
			t.Errorf("%s: a protected request was degraded", mode)
		}
	}
}

// TestDimmerWithoutSamples holds what is gone by when no request has ended.
func TestDimmerWithoutSamples(t *testing.T) {
	dim := func() (protection.Protection, protection.Ticker) {
		p := must(t, "brownout", map[string]any{"mode": "dimmer", "gain": 1.0})
		return p, p.(protection.Ticker)
	}
	p, ticker := dim()
	ticker.Tick(time.Second, protection.Load{Waiting: 1, Oldest: 500 * ms})
	if !degrades(p, time.Second) {
		t.Error("the oldest has waited for five times the setpoint and all answers are full")
	}
	ticker.Tick(2*time.Second, protection.Load{Oldest: protection.Never})
	if !degrades(p, 2*time.Second) {
		t.Error("it changed its mind although nothing has happened")
	}
	p, ticker = dim()
	p.Leave(0, nil, protection.End{Outcome: protection.Dropped, Waited: time.Minute})
	ticker.Tick(time.Second, protection.Load{Oldest: protection.Never})
	if degrades(p, time.Second) {
		t.Error("what was dropped counts as a response")
	}
}

// degrader degrades a share of the requests, evenly.
type degrader struct{ share, due float64 }

func (d *degrader) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	if d.due += d.share; d.due >= 1 {
		d.due--
		r.Degraded = true
	}
	return ""
}

func (*degrader) Leave(time.Duration, *protection.Request, protection.End) {}

// TestDegradedCapacity holds what cheaper answers are worth: c/(0.05(1-d) + 0.01d)
// with c workers and a share d of cheaper answers.
func TestDegradedCapacity(t *testing.T) {
	for share, want := range map[float64]float64{0: 2000, 0.5: 3333, 1: 10_000} {
		got := simulate(t, 12_000, 4*time.Second, plainly, &degrader{share: share})
		if math.Abs(got.total()-want) > 0.01*want || math.Abs(got.degraded-share) > 0.01 {
			t.Errorf("with %.1f degraded: %.0f/s, %.3f of them degraded; want %.0f/s", share, got.total(), got.degraded, want)
		}
	}
}

// TestDimmerHoldsTheSetpoint holds that the dimmer degrades no more than it has to,
// at the response time asked for.
func TestDimmerHoldsTheSetpoint(t *testing.T) {
	for _, rate := range []float64{1500, 2500, 4000, 8000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			p := must(t, "brownout", map[string]any{"mode": "dimmer"})
			got := simulate(t, rate, 40*time.Second, plainly, p)
			need := max(0, (0.05-100/rate)/0.04)
			if got.degraded < need-0.02 || got.degraded > need+0.06 || got.total() < 0.98*rate {
				t.Errorf("%+v, want %.3f degraded at %v/s", got, need, rate)
			}
			// The looks have 100ms on average; the p95 of all of them together is more.
			if got.p95 > 200*ms || need > 0 && got.p95 < 80*ms {
				t.Errorf("p95 is %v, want some 100ms to 200ms", got.p95)
			}
		})
	}
}
