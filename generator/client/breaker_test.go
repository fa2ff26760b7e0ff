package client

import (
	"testing"
	"time"

	"knee/generator/record"
)

func breakerOf(t *testing.T, change func(*breakerKnobs)) Behaviour {
	return build(t, "breaker", 2, change)
}

// refuseAll sends n originals of a caller and refuses what is sent of them.
func (s *stage) refuseAll(who uint32, n int) {
	for range n {
		s.call(who)
		for len(s.open) > 0 {
			s.answer(0, refused)
		}
	}
}

func TestBreakerWithholds(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{breakerOf(t, nil)}})
	s.refuseAll(0, 7)
	if n := len(s.sentAt); n != 6 {
		t.Errorf("%d sent, want 6", n)
	}
	if e := s.endings[6]; e.Kind != record.Withheld || e.Reason != ReasonBreakerOpen {
		t.Errorf("the seventh ends as %+v", e)
	}
	s.refuseAll(1, 1)
	if n := len(s.sentAt); n != 7 {
		t.Error("the breaker of one caller keeps another one back")
	}
	s.to(time.Minute)
	s.refuseAll(0, 1)
	if n := len(s.sentAt); n != 7 {
		t.Error("sent after exactly the timeout")
	}
	s.to(time.Minute + 1)
	s.call(0)
	s.call(0)
	if e := s.endings[len(s.endings)-1]; len(s.open) != 1 || e.Reason != ReasonBreakerBusy {
		t.Errorf("%d probes, then %+v: want one, then busy", len(s.open), e)
	}
	s.answer(0, Answer{})
	s.call(0)
	if len(s.open) != 1 {
		t.Error("closed by a success, it keeps the next one back")
	}
}

// A breaker outside of the retries sees originals, one inside of them attempts.
func TestWhereABreakerStands(t *testing.T) {
	for _, c := range []struct {
		name  string
		chain []Behaviour
		want  int // attempts sent of ten originals that are refused
	}{
		{"outside", []Behaviour{breakerOf(t, nil), plainRetry(t, 2, 0)}, 12},
		{"inside", []Behaviour{plainRetry(t, 2, 0), breakerOf(t, nil)}, 6},
	} {
		s := newStage(t, Options{Behaviours: c.chain})
		s.refuseAll(0, 10)
		if n := len(s.sentAt); n != c.want {
			t.Errorf("%s: %d sent, want %d", c.name, n, c.want)
		}
	}
}

func TestBreakerForAll(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{breakerOf(t, func(k *breakerKnobs) {
		k.Per, k.Failures, k.FailureShare, k.MinRequests = perAll, 0, 0.5, 4
	})}})
	for who := range uint32(10) {
		s.call(who)
		for len(s.open) > 0 {
			if who < 2 {
				s.answer(0, Answer{})
			} else {
				s.answer(0, refused)
			}
		}
	}
	if n := len(s.sentAt); n != 4 {
		t.Errorf("%d sent, want 4: two of four have failed then", n)
	}
}

// A probe that is cancelled, or that something further inside keeps back, closes
// nothing and opens nothing: the next one may go.
func TestBreakerIgnoresWhatWasNotAnswered(t *testing.T) {
	s := newStage(t, Options{MaxInFlight: 1, Behaviours: []Behaviour{
		hedgeOf(t, func(k *hedgeKnobs) { k.Delay, k.NonFatal = time.Hour, nil }),
		breakerOf(t, func(k *breakerKnobs) { k.Failures = 1 }),
	}})
	s.refuseAll(0, 1)
	s.to(2 * time.Minute)
	s.call(1)
	s.call(0) // a probe, for which there is no room in flight
	breaker := s.chain[1].Behaviour.(*breaker)
	if got := breaker.states.get(&Attempt{}).State(origin + s.now); got != BreakerHalfOpen {
		t.Fatalf("state %v after a probe that was not sent, want half open", got)
	}
	s.answer(0, Answer{})
	s.call(0)
	if len(s.open) != 1 {
		t.Error("no further probe is sent")
	}
	s.carryOut(s.Abandon(origin + s.now))
	if got := breaker.states.get(&Attempt{}).State(origin + s.now); got != BreakerHalfOpen {
		t.Errorf("state %v after a probe that was cancelled, want half open", got)
	}
}
