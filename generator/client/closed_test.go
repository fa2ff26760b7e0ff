package client

import (
	"testing"
	"time"

	"knee/generator/plan"
)

// closedPlan has more arrivals than a test takes.
func closedPlan(t *testing.T, d time.Duration) *plan.Plan {
	t.Helper()
	p, err := plan.New(plan.Spec{
		Classes: []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: ms, Deadline: ms}},
		Clients: 1,
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 1e5, For: d}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In a closed loop as many originals are open as there are callers, the next is
// due when one has ended, and none comes after the time is over.
func TestClosedLoop(t *testing.T) {
	h := newHarness(t, Options{})
	h.OfferClosed(closedPlan(t, 200*ms), 0, 1000*ms, 3)
	if got := h.Next(); got > 1000*ms {
		t.Errorf("next %v: want the start of the plan, or before", got)
	}
	h.sent(h.Advance(999*ms), 0)
	open := h.sent(h.Advance(1000*ms), 3)
	h.sent(h.Advance(1010*ms), 0)
	for _, now := range []time.Duration{1020 * ms, 1030 * ms, 1040 * ms} {
		h.Answer(now, open[0], Answer{})
		next := h.sent(h.Advance(now), 1)[0]
		if next.Planned != now || next.Arrival.At != now {
			t.Errorf("after an end at %v: planned for %v: want it due at once", now, next.Planned)
		}
		open = append(open[1:], next)
	}
	effects := h.Advance(1120 * ms) // the timeout of the one sent at 1020ms makes room for another
	h.cancelled(effects, 1)
	h.sent(effects, 1)
	if h.Open() != 3 || !h.Offering() {
		t.Errorf("%d are open, offering %v: want 3 and more to come", h.Open(), h.Offering())
	}
	h.Advance(1199 * ms)
	h.sent(h.Advance(1200*ms), 0)
	if h.Offering() {
		t.Error("the time of the plan is over: want no more to come")
	}
	h.Abandon(1200 * ms)
	if n := h.total(1200 * ms); n.Planned != n.Sent || n.Good != 3 || n.Timeout == 0 || n.Unfinished == 0 {
		t.Errorf("%+v: want all that was planned sent, 3 of them good", n)
	}
}

func TestClosedLoopStops(t *testing.T) {
	h := newHarness(t, Options{})
	h.OfferClosed(closedPlan(t, time.Second), 0, 0, 1)
	open := h.sent(h.Advance(0), 1)
	h.Stop(10 * ms)
	h.Answer(10*ms, open[0], Answer{})
	h.sent(h.Advance(10*ms), 0)
	h.total(10 * ms)
	h.idle()
}
