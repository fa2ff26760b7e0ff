package client

import (
	"slices"
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// With room for one in flight and one in the buffer, what comes third blocks, and
// gives up unless there is room in time.
func TestBlocking(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{build(t, "blocking", 1, func(k *blockingKnobs) {
		k.MaxInFlight, k.Buffer, k.MaxBlock = 1, 1, 30*ms
	})}})
	s.call(0)
	s.call(0)
	s.call(0)
	s.to(10 * ms)
	s.call(0)
	s.to(20 * ms)
	s.answer(0, Answer{}) // the second is sent, the third enters the buffer
	s.to(39 * ms)
	if len(s.endings) != 1 {
		t.Fatalf("endings %+v, want only the first", s.endings)
	}
	s.to(40 * ms) // the fourth has been blocked for 30 ms
	want := record.Ending{Kind: record.Withheld, Reason: ReasonBufferFull, Planned: 10 * ms, Done: 40 * ms}
	if got := s.endings[len(s.endings)-1]; got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	s.to(90 * ms)
	s.answer(0, Answer{})
	s.wantSent(0, 20*ms, 90*ms)
}

func TestBlockingReasons(t *testing.T) {
	reasons := func(change func(*blockingKnobs)) (all []string) {
		s := newStage(t, Options{
			Classes: []plan.Class{{Name: "all", Timeout: time.Second, Deadline: 100 * ms}},
			Close:   true,
			Behaviours: []Behaviour{build(t, "blocking", 1, func(k *blockingKnobs) {
				k.MaxInFlight = 1
				change(k)
			})},
		})
		for range 4 {
			s.call(0)
		}
		s.to(99 * ms)
		early := len(s.endings)
		s.to(time.Second)
		for i, e := range s.endings {
			if e.Kind == record.Withheld && (i < early) != (e.Done < 100*ms) {
				t.Errorf("ending %d of %d early ones is %+v", i, early, e)
			}
			if e.Kind == record.Withheld {
				all = append(all, e.Reason)
			}
		}
		slices.Sort(all)
		return all
	}
	for _, c := range []struct {
		name   string
		change func(*blockingKnobs)
		want   []string
	}{
		{"at once", func(k *blockingKnobs) { k.Buffer, k.MaxBlock = 0, 0 }, []string{"buffer_full", "buffer_full", "buffer_full"}},
		{"by the deadline", func(k *blockingKnobs) { k.Buffer = 2 }, []string{"buffer_expired", "buffer_expired", "buffer_expired"}},
		{"no buffer", func(k *blockingKnobs) { k.Buffer, k.MaxBlock = 0, 50*ms }, []string{"buffer_full", "buffer_full", "buffer_full"}},
	} {
		if got := reasons(c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Without a buffer what blocks goes as soon as there is room in flight.
func TestBlockingWithoutBuffer(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{build(t, "blocking", 1, func(k *blockingKnobs) {
		k.MaxInFlight, k.Buffer = 1, 0
	})}})
	s.call(0)
	s.call(0)
	s.to(10 * ms)
	s.answer(0, Answer{})
	s.wantSent(0, 10*ms)
}

// What leaves the buffer because its deadline has come makes room as well.
func TestBlockedAttemptsEnterTheBuffer(t *testing.T) {
	s := newStage(t, Options{
		Classes: []plan.Class{{Name: "all", Timeout: time.Second, Deadline: time.Second}},
		Behaviours: []Behaviour{build(t, "blocking", 1, func(k *blockingKnobs) {
			k.MaxInFlight, k.Buffer, k.MaxBlock = 1, 1, 80*ms
		})},
	})
	at := func(now, deadline time.Duration) {
		s.to(now)
		s.taken++
		s.carryOut(s.Call(origin+now, &plan.Arrival{Seq: s.taken, At: origin + now}, origin+deadline))
	}
	at(0, time.Second)
	at(0, 100*ms)     // in the buffer
	at(50*ms, 200*ms) // blocked, until 130 if nothing happens
	s.to(500 * ms)
	want := []record.Ending{
		{Kind: record.Withheld, Reason: ReasonBufferExpired, Done: 100 * ms},
		{Kind: record.Withheld, Reason: ReasonBufferExpired, Planned: 50 * ms, Done: 200 * ms},
	}
	if !slices.Equal(s.endings, want) {
		t.Errorf("endings %+v, want %+v", s.endings, want)
	}
}
