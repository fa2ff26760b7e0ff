package client

import (
	"math"
	"testing"
	"time"
)

func TestThrottleShare(t *testing.T) {
	for _, c := range []struct {
		k                 float64
		requests, accepts int64
		want              float64
	}{
		{2, 0, 0, 0},
		{2, 1, 0, 0.5},
		{2, 10, 10, 0},
		{2, 100, 50, 0},
		{2, 100, 49, 0.019802},
		{2, 1000, 0, 0.999001},
		{2, 1000, 400, 0.199800},
		{2, 1000, 250, 0.499500},
		{2, 3000, 1000, 0.333222},
		{1.1, 1000, 900, 0.00999},
		{1.1, 1000, 909, 0.0001},
	} {
		if got := ThrottleShare(c.k, c.requests, c.accepts); math.Abs(got-c.want) > 5e-7 {
			t.Errorf("k %v, %d requests, %d accepts: %v, want %v", c.k, c.requests, c.accepts, got, c.want)
		}
	}
}

// sentWhen returns how many attempts a second are sent of 1,000 offered, when the
// server accepts accepted of them, after a minute.
func sentWhen(t *testing.T, accepted float64, change func(*throttleKnobs)) float64 {
	t.Helper()
	s := newStage(t, Options{Behaviours: []Behaviour{build(t, "throttle", 1, func(k *throttleKnobs) {
		k.Window = 20 * time.Second
		change(k)
	})}})
	const seconds, from = 90, 60
	credit, before := 0.0, 0
	for i := range seconds * 1000 {
		s.to(time.Duration(i) * ms)
		if i == from*1000 {
			before = len(s.sentAt)
		}
		credit = min(credit+accepted/1000, 10)
		s.call(0)
		for len(s.open) > 0 {
			if credit < 1 {
				s.answer(0, refused)
				continue
			}
			credit--
			s.answer(0, Answer{})
		}
	}
	return float64(len(s.sentAt)-before) / (seconds - from)
}

// What is sent settles at k times what is accepted, or at the geometric mean of
// that and the load when attempts kept back do not count: that is what some
// libraries do, and much more.
func TestThrottleSettles(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*throttleKnobs)
		want   float64
	}{
		{"k 2", func(*throttleKnobs) {}, 160},
		{"k 1.5", func(k *throttleKnobs) { k.K = 1.5 }, 120},
		{"k 2, kept back do not count", func(k *throttleKnobs) { k.CountLocal = false }, 400},
	} {
		if got := sentWhen(t, 80, c.change); math.Abs(got-c.want) > 0.05*c.want {
			t.Errorf("%s: %v sent each second, want %v", c.name, got, c.want)
		}
	}
}

// At k 1 the throttle itself keeps the load away long after the server accepts
// everything again; at k 2 it lets go at once.
func TestThrottleThatSustainsItself(t *testing.T) {
	after := func(k float64) float64 {
		s := newStage(t, Options{Behaviours: []Behaviour{build(t, "throttle", 1, func(n *throttleKnobs) {
			n.K, n.Window = k, 10*time.Second
		})}})
		sent := 0
		for i := range 60_000 {
			s.to(time.Duration(i) * ms)
			s.call(0)
			for len(s.open) > 0 {
				if i >= 50_000 {
					sent++
				}
				if i < 5000 && i%2 == 0 { // refuses half for five seconds, four windows ago
					s.answer(0, refused)
				} else {
					s.answer(0, Answer{})
				}
			}
		}
		return float64(sent) / 10_000
	}
	if got := after(1); got > 0.9 {
		t.Errorf("k 1 sends %v of the load, want much kept back for good", got)
	}
	if got := after(2); got != 1 {
		t.Errorf("k 2 sends %v of the load, want all", got)
	}
}

// What was not answered says nothing of the server.
func TestThrottleIgnoresWhatWasNotAnswered(t *testing.T) {
	s := newStage(t, Options{MaxInFlight: 1, Behaviours: []Behaviour{build(t, "throttle", 1, func(k *throttleKnobs) { k.CountLocal = false })}})
	s.call(0)
	for range 50 {
		s.call(0) // no room in flight
	}
	s.answer(0, Answer{})
	throttle := s.chain[0].Behaviour.(*throttle)
	if state := throttle.states.get(&Attempt{}); state.requests.total != 1 || state.accepts.total != 1 {
		t.Errorf("%d requests and %d accepts, want 1 of each", state.requests.total, state.accepts.total)
	}
}

// One of two hedges is cancelled: it says nothing of the server either.
func TestThrottleIgnoresWhatWasCancelled(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{
		hedgeOf(t, func(k *hedgeKnobs) { k.Delay = 10 * ms }),
		build(t, "throttle", 1, func(k *throttleKnobs) { k.K, k.CountLocal = 1000, false }),
	}})
	s.call(0)
	s.answer(0, Answer{}) // from here on nothing is kept back
	s.call(0)
	s.to(20 * ms)
	s.answer(0, Answer{})
	state := s.chain[1].Behaviour.(*throttle).states.get(&Attempt{})
	if len(s.sentAt) != 3 || state.requests.total != 2 || state.accepts.total != 2 {
		t.Errorf("%d sent, %d requests and %d accepts: want 3, 2 and 2", len(s.sentAt), state.requests.total, state.accepts.total)
	}
}
