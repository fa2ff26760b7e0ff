package client

import (
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// What an original of up to three attempts ends as. The timeout is 100 ms, the
// grace 200 ms, and the wait before a repetition 20 ms.
func TestEndingsOfSeveralAttempts(t *testing.T) {
	type step struct {
		at     time.Duration
		which  int // of the attempts that are listened to then
		answer Answer
	}
	good := Answer{}
	for _, c := range []struct {
		name  string
		steps []step
		sent  []time.Duration
		want  record.Ending
	}{
		{
			"the second is good",
			[]step{{10 * ms, 0, refused}, {40 * ms, 0, good}},
			[]time.Duration{0, 30 * ms},
			record.Ending{Kind: record.Good, Sent: 30 * ms, Done: 40 * ms},
		},
		{
			"the last decides",
			[]step{{10 * ms, 0, refused}, {40 * ms, 0, broken}, {70 * ms, 0, refused}},
			[]time.Duration{0, 30 * ms, 60 * ms},
			record.Ending{Kind: record.Rejected, Reason: "queue_full", Sent: 60 * ms, Done: 70 * ms},
		},
		{
			"all time out: the last is listened to until its grace is over",
			nil,
			[]time.Duration{0, 120 * ms, 240 * ms},
			record.Ending{Kind: record.Timeout, Sent: 240 * ms, Done: 540 * ms},
		},
		{
			"good beats an earlier late success",
			[]step{{130 * ms, 0, good}, {200 * ms, 0, good}},
			[]time.Duration{0, 120 * ms},
			record.Ending{Kind: record.Good, Sent: 120 * ms, Done: 200 * ms},
		},
		{
			"a late success beats what comes after it",
			[]step{{130 * ms, 0, good}, {150 * ms, 0, refused}, {180 * ms, 0, refused}},
			[]time.Duration{0, 120 * ms, 170 * ms},
			record.Ending{Kind: record.Late, Done: 130 * ms},
		},
		{
			"a refusal after a timeout",
			[]step{{130 * ms, 1, refused}, {200 * ms, 1, refused}},
			[]time.Duration{0, 120 * ms, 150 * ms},
			record.Ending{Kind: record.Rejected, Reason: "queue_full", Sent: 150 * ms, Done: 200 * ms},
		},
		{
			"the first late success counts",
			[]step{{130 * ms, 0, good}, {230 * ms, 0, good}, {260 * ms, 0, refused}},
			[]time.Duration{0, 120 * ms, 240 * ms},
			record.Ending{Kind: record.Late, Done: 130 * ms},
		},
		{
			"a late success of any attempt ends the wait",
			[]step{{350 * ms, 0, good}},
			[]time.Duration{0, 120 * ms, 240 * ms},
			record.Ending{Kind: record.Late, Sent: 120 * ms, Done: 350 * ms},
		},
		{
			"a late refusal of the last attempt ends the wait",
			[]step{{350 * ms, 1, refused}},
			[]time.Duration{0, 120 * ms, 240 * ms},
			record.Ending{Kind: record.Rejected, Reason: "queue_full", Sent: 240 * ms, Done: 350 * ms},
		},
		{
			"that of another one does not",
			[]step{{350 * ms, 0, refused}},
			[]time.Duration{0, 120 * ms, 240 * ms},
			record.Ending{Kind: record.Timeout, Sent: 240 * ms, Done: 540 * ms},
		},
		{
			"in time at the timeout",
			[]step{{10 * ms, 0, refused}, {130 * ms, 0, good}},
			[]time.Duration{0, 30 * ms},
			record.Ending{Kind: record.Good, Sent: 30 * ms, Done: 130 * ms},
		},
		{
			"one that could not be sent leaves the ending before",
			[]step{{10 * ms, 0, refused}, {31 * ms, 0, Answer{Result: NotSent, Reason: "ports"}}},
			[]time.Duration{0, 30 * ms},
			record.Ending{Kind: record.Rejected, Reason: "queue_full", Done: 10 * ms},
		},
		{
			"the first could not be sent",
			[]step{{0, 0, Answer{Result: NotSent, Reason: "ports"}}},
			[]time.Duration{0},
			record.Ending{Kind: record.Unsent, Reason: "ports"},
		},
		{
			"degraded",
			[]step{{10 * ms, 0, refused}, {40 * ms, 0, Answer{Degraded: true}}},
			[]time.Duration{0, 30 * ms},
			record.Ending{Kind: record.Good, Degraded: true, Sent: 30 * ms, Done: 40 * ms},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{Grace: 200 * ms, Behaviours: []Behaviour{plainRetry(t, 3, 20*ms)}})
			s.call(0)
			for _, do := range c.steps {
				s.to(do.at - 1)
				s.now = do.at // an answer comes before what else is due at its instant
				s.answer(do.which, do.answer)
			}
			s.to(5 * time.Second)
			s.wantSent(c.sent...)
			s.wantOnly(c.want)
		})
	}
}

// A shell that learns of an answer after the timeout, before it has let the
// timeout come, has it both ways: the attempt timed out, is repeated from there,
// and the answer is late.
func TestAnswerBeforeTheTimeoutIsTold(t *testing.T) {
	late := func(t *testing.T, o Options, at time.Duration) *stage {
		o.Behaviours = []Behaviour{plainRetry(t, 2, 20*ms)}
		s := newStage(t, o)
		s.call(0)
		s.now = at
		s.answer(0, Answer{})
		s.to(5 * time.Second)
		return s
	}
	t.Run("within the grace", func(t *testing.T) {
		s := late(t, Options{Grace: 200 * ms}, 110*ms)
		s.wantSent(0, 120*ms)
		s.wantOnly(record.Ending{Kind: record.Late, Done: 110 * ms})
	})
	t.Run("after it", func(t *testing.T) {
		s := late(t, Options{Grace: 20 * ms}, 125*ms)
		s.wantSent(0, 125*ms)
		s.wantOnly(record.Ending{Kind: record.Timeout, Sent: 125 * ms, Done: 240 * ms})
	})
	t.Run("hang up", func(t *testing.T) {
		s := late(t, Options{Close: true}, 125*ms)
		s.wantSent(0, 125*ms)
		s.wantOnly(record.Ending{Kind: record.Timeout, Sent: 125 * ms, Done: 220 * ms})
	})
}

// What exceeds the bound is unsent when nothing of an original was sent, and
// leaves the ending before otherwise.
func TestMaxInFlightWithRetries(t *testing.T) {
	s := newStage(t, Options{MaxInFlight: 1, Behaviours: []Behaviour{plainRetry(t, 2, 20*ms)}})
	s.call(0)
	s.to(10 * ms)
	s.answer(0, refused)
	s.call(1) // takes the room before the first comes again
	s.call(2)
	s.to(30 * ms)
	s.answer(0, Answer{})
	want := []record.Ending{
		{Kind: record.Unsent, Reason: ReasonInFlight, Planned: 10 * ms, Done: 10 * ms},
		{Kind: record.Rejected, Reason: "queue_full", Done: 10 * ms},
		{Kind: record.Good, Planned: 10 * ms, Sent: 10 * ms, Done: 30 * ms},
	}
	for i := range want {
		if i >= len(s.endings) || s.endings[i] != want[i] {
			t.Fatalf("endings %+v, want %+v", s.endings, want)
		}
	}
}

func TestAbandonWithBehaviours(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{
		plainRetry(t, 2, 100*ms),
		build(t, "window", 3, func(k *windowKnobs) { k.Credits = 1 }),
	}})
	s.call(0) // waits before its second attempt
	s.to(10 * ms)
	s.answer(0, refused)
	s.call(1) // is open
	s.call(1) // has no credit
	s.call(2) // is open
	s.to(20 * ms)
	s.carryOut(s.Abandon(origin + 20*ms))
	if s.Open() != 0 || s.InFlight() != 0 || s.Next() != never || len(s.open) != 0 {
		t.Fatalf("%d open, %d in flight, next at %v, %d to answer: want nothing left", s.Open(), s.InFlight(), s.Next(), len(s.open))
	}
	by := map[record.Kind]int{}
	for _, e := range s.endings {
		by[e.Kind]++
		if e.Kind == record.Withheld && e.Reason != ReasonNoCredit {
			t.Errorf("withheld for %q", e.Reason)
		}
	}
	if by[record.Unfinished] != 3 || by[record.Withheld] != 1 {
		t.Errorf("endings %v, want 3 unfinished and 1 withheld", by)
	}
}

// What is due as everything is abandoned is not sent any more.
func TestNothingIsSentAsAllIsAbandoned(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{plainRetry(t, 2, 20*ms)}})
	s.call(0)
	s.to(10 * ms)
	s.answer(0, refused)
	s.now = 40 * ms
	s.carryOut(s.Abandon(origin + s.now))
	s.wantSent(0)
	s.wantOnly(record.Ending{Kind: record.Rejected, Reason: "queue_full", Done: 10 * ms})
}

// A shell that comes late sends a first attempt as long as anybody would listen,
// and a further one before its deadline only.
func TestLateShellWithBehaviours(t *testing.T) {
	options := func(t *testing.T) Options {
		return Options{
			Grace:      200 * ms,
			Classes:    []plan.Class{{Name: "all", Timeout: 100 * ms, Deadline: 150 * ms}},
			Behaviours: []Behaviour{plainRetry(t, 2, 20*ms)},
		}
	}
	t.Run("first", func(t *testing.T) {
		s := newStage(t, options(t))
		s.taken++
		s.now = 145 * ms
		s.carryOut(s.Call(origin+s.now, &plan.Arrival{Seq: 1, At: origin}, never))
		s.to(5 * time.Second)
		s.wantSent(145 * ms) // timed out at once; there is no time left for another
		s.wantOnly(record.Ending{Kind: record.Timeout, Sent: 145 * ms, Done: 300 * ms})
	})
	t.Run("second", func(t *testing.T) {
		s := newStage(t, options(t))
		s.call(0)
		s.to(10 * ms)
		s.answer(0, refused)
		s.now = 160 * ms
		s.settle()
		s.wantSent(0)
		s.wantOnly(record.Ending{Kind: record.Rejected, Reason: "queue_full", Done: 10 * ms})
	})
}

// At one instant a wait ends before what is planned for it looks for room.
func TestWaitEndsBeforeARetry(t *testing.T) {
	s := newStage(t, Options{Close: true, MaxInFlight: 2, Behaviours: []Behaviour{plainRetry(t, 2, 100*ms)}})
	s.call(0)
	s.answer(0, refused) // comes again at 100, when the next ones time out
	s.call(1)
	s.call(2)
	s.to(100 * ms)
	if n := len(s.open); n != 1 || s.open[0].Number != 2 {
		t.Errorf("%d open, want the second attempt of the first original", n)
	}
}

// An eager behaviour tries again whatever happens.
type eager struct{ wait time.Duration }

func (e eager) Before(now time.Duration, _ *Attempt) (time.Duration, string) { return now, "" }

func (e eager) After(now time.Duration, _ *Attempt, _ Answer) time.Duration { return now + e.wait }

// Not every wish to try again is heard.
func TestEagerBehaviour(t *testing.T) {
	t.Run("after a success", func(t *testing.T) {
		s := newStage(t, Options{Behaviours: []Behaviour{eager{}}})
		s.call(0)
		s.answer(0, Answer{})
		s.wantSent(0)
		s.wantOnly(record.Ending{Kind: record.Good})
	})
	t.Run("at the deadline", func(t *testing.T) {
		s := newStage(t, Options{Behaviours: []Behaviour{eager{250 * ms}}})
		s.auto = func(*Attempt) (time.Duration, Answer) { return 0, refused }
		s.call(0)
		s.to(5 * time.Second)
		s.wantSent(0, 250*ms, 500*ms, 750*ms)
		s.wantOnly(record.Ending{Kind: record.Rejected, Reason: "queue_full", Sent: 750 * ms, Done: 750 * ms})
	})
	t.Run("in the past", func(t *testing.T) {
		s := newStage(t, Options{Behaviours: []Behaviour{eager{-time.Hour}, plainRetry(t, 1, 0)}})
		s.call(0)
		s.to(10 * ms)
		s.answer(0, refused)
		if a := s.open[0]; a.Planned-origin != 10*ms {
			t.Errorf("planned at %v, want 10ms", a.Planned-origin)
		}
	})
}

// A strict planner lets attempts be planned and refuses them when they come.
type strict struct{ planned, ended int }

func (p *strict) Plan(time.Duration, *Attempt) string { p.planned++; return "" }

func (p *strict) Before(now time.Duration, a *Attempt) (time.Duration, string) {
	if a.Number > 1 {
		return now, "no"
	}
	return now, ""
}

func (p *strict) After(time.Duration, *Attempt, Answer) time.Duration { p.ended++; return never }

// Who refuses an attempt hears no more of it.
func TestRefusalIsFinal(t *testing.T) {
	p := &strict{}
	s := newStage(t, Options{Behaviours: []Behaviour{plainRetry(t, 3, 20*ms), p}})
	s.call(0)
	s.answer(0, refused)
	s.to(time.Second)
	if p.planned != 1 || p.ended != 1 {
		t.Errorf("%d planned, %d ended: want 1 and the first attempt alone", p.planned, p.ended)
	}
	s.wantOnly(record.Ending{Kind: record.Rejected, Reason: "queue_full"})
}
