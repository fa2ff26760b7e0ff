package client

import (
	"math/rand/v2"
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// build returns a registered behaviour with its default knobs, changed by change.
func build[K any](tb testing.TB, name string, clients int, change func(*K)) Behaviour {
	tb.Helper()
	info, err := Registry.Lookup(name)
	if err != nil {
		tb.Fatal(err)
	}
	knobs := info.Knobs()
	if change != nil {
		change(knobs.(*K))
	}
	b, err := info.New(Setup{Clients: clients, Rand: rand.New(rand.NewPCG(1, 2))}, knobs)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func retries(tb testing.TB, change func(*retryKnobs)) Behaviour {
	return build(tb, "retry", 1, change)
}

// plainRetry repeats up to attempts in all, without jitter and after waits that
// are all the same.
func plainRetry(tb testing.TB, attempts int, wait time.Duration) Behaviour {
	return retries(tb, func(k *retryKnobs) {
		k.MaxAttempts = attempts
		k.Backoff = Backoff{Base: wait, Cap: wait, Jitter: jitterNone}
	})
}

// A stage is a Caller with a shell that does as the test says, and keeps what it
// sees of it. Instants on a stage are since the arrival of the first original.
type stage struct {
	*Caller
	t       testing.TB
	now     time.Duration
	open    []*Attempt // sent and not over, in the order in which they were sent
	sentAt  []time.Duration
	hedges  int
	endings []record.Ending
	taken   uint64

	// auto says when an attempt that is being sent is answered, and how; nil when
	// the test answers.
	auto func(*Attempt) (after time.Duration, e Answer)
	due  map[*Attempt]reply
}

// reply is what will come to an attempt.
type reply struct {
	at     time.Duration
	seq    int
	answer Answer
}

const origin = time.Second // instant of the first original

func newStage(tb testing.TB, o Options) *stage {
	tb.Helper()
	s := &stage{t: tb, due: map[*Attempt]reply{}}
	if o.Classes == nil {
		o.Classes = []plan.Class{{Name: "all", Timeout: 100 * ms, Deadline: time.Second}}
	}
	c, err := NewCaller(o, s)
	if err != nil {
		tb.Fatal(err)
	}
	s.Caller = c
	return s
}

func (s *stage) Attempted(a *Attempt, first bool) {
	s.sentAt = append(s.sentAt, s.now)
	if first != (len(s.open) == 0 && a.Number == 1) && s.taken == 1 {
		s.t.Errorf("attempt %d, %d open: first is %v", a.Number, len(s.open), first)
	}
	if a.Hedge {
		s.hedges++
	}
}

func (s *stage) Unattempted(*Attempt, bool) {}

func (s *stage) Ended(_ *plan.Arrival, e *record.Ending) {
	end := *e
	end.Planned, end.Done = end.Planned-origin, end.Done-origin
	end.Sent = max(end.Sent-origin, 0)
	s.endings = append(s.endings, end)
}

// call begins an original of a caller now.
func (s *stage) call(who uint32) {
	s.taken++
	s.carryOut(s.Call(origin+s.now, &plan.Arrival{Seq: s.taken, At: origin + s.now, Client: who}, never))
	s.settle()
}

// to lets the time come, with all that is due until then and at it; at one
// instant answers come first.
func (s *stage) to(at time.Duration) {
	s.t.Helper()
	for {
		a := s.soonest()
		switch {
		case a != nil && s.due[a].at <= min(at, s.Next()-origin):
			s.now = s.due[a].at
			s.answerTo(a, s.due[a].answer)
		case s.Next() <= origin+at:
			s.now = s.Next() - origin
			s.settle()
		default:
			s.now = at
			return
		}
	}
}

// soonest returns the attempt that is answered next; nil when none will be.
func (s *stage) soonest() *Attempt {
	var first *Attempt
	for a, r := range s.due {
		if f := s.due[first]; first == nil || r.at < f.at || r.at == f.at && r.seq < f.seq {
			first = a
		}
	}
	return first
}

// settle does what is due now.
func (s *stage) settle() {
	for s.Next() <= origin+s.now {
		s.carryOut(s.Advance(origin + s.now))
	}
}

func (s *stage) carryOut(effects []Effect) {
	for _, e := range effects {
		if e.Kind == Send {
			s.open = append(s.open, e.Attempt)
			if s.auto != nil {
				after, answer := s.auto(e.Attempt)
				s.due[e.Attempt] = reply{s.now + after, len(s.sentAt), answer}
			}
			continue
		}
		s.forget(e.Attempt)
	}
}

func (s *stage) forget(a *Attempt) {
	delete(s.due, a)
	for i := range s.open {
		if s.open[i] == a {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
			return
		}
	}
	s.t.Fatalf("attempt %d is cancelled and was not open", a.Number)
}

// answer answers attempt i of those open, now.
func (s *stage) answer(i int, e Answer) {
	s.t.Helper()
	if i >= len(s.open) {
		s.t.Fatalf("at %v %d attempts are open: want one to answer at %d", s.now, len(s.open), i)
	}
	s.answerTo(s.open[i], e)
	s.settle()
}

func (s *stage) answerTo(a *Attempt, e Answer) {
	s.forget(a)
	s.carryOut(s.Answer(origin+s.now, a, e))
}

// wantSent fails the test unless attempts were sent at exactly these instants.
func (s *stage) wantSent(at ...time.Duration) {
	s.t.Helper()
	if len(at) != len(s.sentAt) {
		s.t.Fatalf("sent at %v, want %v", s.sentAt, at)
	}
	for i := range at {
		if s.sentAt[i] != at[i] {
			s.t.Fatalf("sent at %v, want %v", s.sentAt, at)
		}
	}
}

// wantOnly fails the test unless one original ended, and so.
func (s *stage) wantOnly(e record.Ending) {
	s.t.Helper()
	if len(s.endings) != 1 || s.endings[0] != e {
		s.t.Fatalf("endings %+v, want only %+v", s.endings, e)
	}
	if s.Open() != 0 || s.InFlight() != 0 || s.Next() != never || len(s.open) != 0 {
		s.t.Fatalf("%d open, %d in flight, next at %v, %d to answer: want nothing left", s.Open(), s.InFlight(), s.Next(), len(s.open))
	}
}

var (
	refused = Answer{Result: Rejected, Reason: "queue_full"}
	broken  = Answer{Result: Failed, Reason: "reset"}
)
