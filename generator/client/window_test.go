package client

import (
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

func windowOf(t *testing.T, change func(*windowKnobs)) Behaviour {
	return build(t, "window", 2, change)
}

func granted(n int) Answer { return Answer{Granted: true, Credits: n} }

func TestWindow(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{windowOf(t, func(k *windowKnobs) { k.Credits = 2 })}})
	for range 5 {
		s.call(0)
	}
	s.call(1)
	if len(s.open) != 3 {
		t.Fatalf("%d sent, want 2 of the first caller and 1 of the second", len(s.open))
	}
	s.to(10 * ms)
	s.answer(0, Answer{}) // says nothing of credits
	s.wantSent(0, 0, 0, 10*ms)
	s.to(20 * ms)
	s.answer(0, granted(4)) // one is open, two are held
	s.wantSent(0, 0, 0, 10*ms, 20*ms, 20*ms)
	s.to(30 * ms)
	s.answer(1, granted(0)) // two of three are open, and one of the two may be
	s.call(0)
	if len(s.open) != 3 {
		t.Fatalf("%d open, want 2 of the first caller and 1 of the second", len(s.open))
	}
	s.answer(1, Answer{})
	if len(s.open) != 2 {
		t.Fatalf("%d open, want 1 of each: the one that is open is the one that may be", len(s.open))
	}
	s.answer(1, Answer{})
	s.wantSent(0, 0, 0, 10*ms, 20*ms, 20*ms, 30*ms)
}

// What gets no credit until shortly before its deadline is withheld.
func TestWindowWithoutCredit(t *testing.T) {
	s := newStage(t, Options{
		Classes:    []plan.Class{{Name: "all", Timeout: 100 * ms, Deadline: 150 * ms}},
		Grace:      time.Second,
		Behaviours: []Behaviour{windowOf(t, func(k *windowKnobs) { k.Credits, k.Allowance = 1, 10*ms })},
	})
	s.call(0)
	s.to(20 * ms)
	s.call(0)
	s.call(0)
	s.to(100 * ms) // the first times out: its credit is free
	s.wantSent(0, 100*ms)
	if a := s.open[1]; a.Timeout-origin != 170*ms {
		t.Errorf("the second has until %v, want what is left of its deadline, 170ms", a.Timeout-origin)
	}
	s.to(159 * ms)
	if len(s.endings) != 0 {
		t.Fatalf("endings %+v too early", s.endings)
	}
	s.to(160 * ms)
	want := record.Ending{Kind: record.Withheld, Reason: ReasonNoCredit, Planned: 20 * ms, Done: 160 * ms}
	if len(s.endings) != 1 || s.endings[0] != want {
		t.Errorf("endings %+v, want %+v", s.endings, want)
	}
}

func TestWindowIsFairToWhatCameFirst(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{windowOf(t, func(k *windowKnobs) { k.Credits = 1 })}})
	for range 4 {
		s.call(0)
	}
	for i := range uint64(4) {
		if got := s.open[0].Arrival.Seq; got != i+1 {
			t.Errorf("original %d is sent as number %d", got, i+1)
		}
		s.answer(0, Answer{})
	}
}

// What is left of a deadline has to be enough for an answer: held to the very end
// an attempt would be sent in vain, and so would the next.
func TestWindowAllowsForTheAnswer(t *testing.T) {
	run := func(change func(*windowKnobs)) (good, withheld int) {
		s := newStage(t, Options{
			Classes: []plan.Class{{Name: "all", Timeout: 100 * ms, Deadline: 100 * ms}},
			Close:   true,
			Behaviours: []Behaviour{windowOf(t, func(k *windowKnobs) {
				k.Credits = 1
				change(k)
			})},
		})
		s.auto = func(*Attempt) (time.Duration, Answer) { return 20 * ms, Answer{} }
		for i := range 2000 { // twice what one credit carries
			s.to(time.Duration(i) * 10 * ms)
			s.call(0)
		}
		s.to(time.Minute)
		for _, e := range s.endings {
			switch e.Kind {
			case record.Good:
				good++
			case record.Withheld:
				withheld++
			}
		}
		return good, withheld
	}
	if good, _ := run(func(k *windowKnobs) { k.Allowance = 1 }); good > 700 {
		t.Errorf("%d good of 2,000 without an allowance: want far less than 1,000, or the case says nothing", good)
	}
	for name, change := range map[string]func(*windowKnobs){
		"given":   func(k *windowKnobs) { k.Allowance = 20 * ms },
		"default": func(*windowKnobs) {},
	} {
		if good, withheld := run(change); good < 950 || good+withheld < 1995 {
			t.Errorf("%s: %d good and %d withheld of 2,000: want about half each", name, good, withheld)
		}
	}
}
