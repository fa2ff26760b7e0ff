package client

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

func hedgeOf(t *testing.T, change func(*hedgeKnobs)) Behaviour { return build(t, "hedge", 1, change) }

// Four attempts half a second apart: at 1, 501, 1001 and 1501 ms there are 1, 2,
// 3 and 4. The first success cancels the others.
func TestHedges(t *testing.T) {
	s := newStage(t, Options{
		Classes:    []plan.Class{{Name: "all", Timeout: time.Minute, Deadline: time.Minute}},
		Behaviours: []Behaviour{hedgeOf(t, func(k *hedgeKnobs) { k.Delay, k.MaxAttempts = 500*ms, 4 })},
	})
	s.call(0)
	for i, at := range []time.Duration{1, 501, 1001, 1501} {
		s.to(at * ms)
		if len(s.open) != i+1 {
			t.Errorf("%d outstanding at %d ms, want %d", len(s.open), at, i+1)
		}
	}
	s.to(10 * time.Second)
	if s.hedges != 3 {
		t.Errorf("%d hedges, want 3", s.hedges)
	}
	s.answer(2, Answer{})
	s.wantOnly(record.Ending{Kind: record.Good, Sent: time.Second, Done: 10 * time.Second})
}

func TestWhatEndsAHedgedCall(t *testing.T) {
	hedged := func(t *testing.T, change func(*hedgeKnobs), chain ...Behaviour) *stage {
		s := newStage(t, Options{Behaviours: append([]Behaviour{hedgeOf(t, func(k *hedgeKnobs) {
			k.Delay, k.MaxAttempts = 50*ms, 3
			if change != nil {
				change(k)
			}
		})}, chain...)})
		s.call(0)
		return s
	}
	t.Run("one that is not fatal brings the next at once", func(t *testing.T) {
		s := hedged(t, nil)
		s.to(10 * ms)
		s.answer(0, refused)
		s.wantSent(0, 10*ms)
		s.to(200 * ms)
		s.wantSent(0, 10*ms, 60*ms)
	})
	t.Run("or when the server asks for it", func(t *testing.T) {
		s := hedged(t, nil)
		s.to(10 * ms)
		s.answer(0, Answer{Result: Rejected, Reason: "rate", RetryAfter: 70 * ms})
		s.to(79 * ms)
		s.wantSent(0)
		s.to(80 * ms)
		s.wantSent(0, 80*ms)
	})
	t.Run("or none, when it asks for that", func(t *testing.T) {
		s := hedged(t, nil)
		s.to(60 * ms)
		s.answer(0, Answer{Result: Rejected, Reason: "rate", NoRetry: true})
		s.to(90 * ms)
		if s.wantSent(0, 50*ms); len(s.endings) != 0 {
			t.Fatalf("ended as %+v while one was open", s.endings)
		}
		s.answer(0, refused)
		s.wantOnly(record.Ending{Kind: record.Rejected, Reason: "queue_full", Sent: 50 * ms, Done: 90 * ms})
	})
	t.Run("a fatal one ends it", func(t *testing.T) {
		s := hedged(t, func(k *hedgeKnobs) { k.NonFatal = []string{"rejected"} })
		s.to(60 * ms)
		s.answer(1, broken)
		s.wantOnly(record.Ending{Kind: record.Failed, Reason: "reset", Sent: 50 * ms, Done: 60 * ms})
	})
	t.Run("the last of all ends it", func(t *testing.T) {
		s := hedged(t, nil)
		s.to(10 * ms)
		s.answer(0, refused)
		s.answer(0, refused)
		s.answer(0, broken)
		s.wantSent(0, 10*ms, 10*ms)
		s.wantOnly(record.Ending{Kind: record.Failed, Reason: "reset", Sent: 10 * ms, Done: 10 * ms})
	})
	t.Run("one that is withheld takes the rest along", func(t *testing.T) {
		s := hedged(t, nil, budgetOf(t, nil))
		s.to(90 * ms)
		s.wantSent(0)
		s.answer(0, Answer{})
		s.wantOnly(record.Ending{Kind: record.Good, Done: 90 * ms})
	})
	t.Run("retries within it are its own", func(t *testing.T) {
		s := hedged(t, nil, plainRetry(t, 2, 5*ms))
		s.to(10 * ms)
		s.answer(0, refused) // comes again at 15
		s.to(20 * ms)
		s.answer(0, refused) // both of the first branch are over: the second begins
		s.to(30 * ms)
		s.wantSent(0, 15*ms, 20*ms)
		if s.hedges != 1 {
			t.Errorf("%d hedges, want 1", s.hedges)
		}
	})
	t.Run("retries around it are hedged again", func(t *testing.T) {
		s := newStage(t, Options{Behaviours: []Behaviour{
			plainRetry(t, 2, 5*ms), hedgeOf(t, func(k *hedgeKnobs) { k.Delay, k.NonFatal = 50*ms, nil }),
		}})
		s.call(0)
		s.to(60 * ms)
		s.answer(1, refused) // fatal: the first attempt is cancelled
		s.to(200 * ms)
		s.wantSent(0, 50*ms, 65*ms, 115*ms)
		if s.hedges != 2 {
			t.Errorf("%d hedges, want 2", s.hedges)
		}
	})
}

// To hedge after the 95th percentile costs about a twentieth of the load, and
// takes the tail away: a request takes 10 ms on average, one of a hundred a tenth
// of a second more.
func TestHedgeByQuantile(t *testing.T) {
	run := func(behaviours ...Behaviour) (load, slow float64) {
		s := newStage(t, Options{
			Classes:    []plan.Class{{Name: "all", Timeout: time.Minute, Deadline: time.Minute}},
			Behaviours: behaviours,
		})
		random := rand.New(rand.NewPCG(3, 4))
		s.auto = func(*Attempt) (time.Duration, Answer) {
			d := time.Duration(random.ExpFloat64() * float64(10*ms))
			if random.IntN(100) == 0 {
				d += 100 * ms
			}
			return d, Answer{}
		}
		const originals = 20_000
		for i := range originals {
			s.to(time.Duration(i) * time.Second)
			s.call(0)
		}
		s.to((originals + 1) * time.Second)
		late := 0
		for _, e := range s.endings {
			if e.Done-e.Planned > 100*ms {
				late++
			}
		}
		return float64(len(s.sentAt)) / originals, float64(late) / originals
	}
	load, slow := run()
	if load != 1 || math.Abs(slow-0.01) > 0.003 {
		t.Fatalf("%v times the load and %v slow without hedges: want 1, and a hundredth", load, slow)
	}
	load, slow = run(hedgeOf(t, nil))
	if load < 1.03 || load > 1.07 || slow > 0.001 {
		t.Errorf("%v times the load and %v slow: want about 1.05, and hardly any", load, slow)
	}
}

// Without enough measured nothing is hedged.
func TestHedgeWaitsForMeasurements(t *testing.T) {
	l := newLatencies(0.95)
	for i := range 49 {
		l.add(time.Duration(i))
	}
	if _, known := l.quantile(); known {
		t.Error("a quantile of 49")
	}
	l.add(49)
	if q, known := l.quantile(); !known || q != 47 {
		t.Errorf("the quantile of 0 to 49 is %v, %v: want 47", q, known)
	}
	for range 2000 {
		l.add(ms)
	}
	for range 1000 {
		l.add(time.Second)
	}
	if q, _ := l.quantile(); q != time.Second {
		t.Errorf("the quantile is %v after 1,000 of a second", q)
	}
}

func TestOneHedgeOnly(t *testing.T) {
	_, err := NewCaller(Options{
		Classes:    []plan.Class{{Name: "all", Timeout: ms, Deadline: ms}},
		Behaviours: []Behaviour{hedgeOf(t, nil), hedgeOf(t, nil)},
	}, nil)
	if err == nil {
		t.Error("two behaviours that hedge are accepted")
	}
}

// What was never sent took no time.
func TestHedgeMeasuresWhatWasSent(t *testing.T) {
	h := hedgeOf(t, nil).(*hedge)
	for range 100 {
		h.After(time.Second, &Attempt{Sent: never}, Answer{Result: Cancelled})
	}
	if _, known := h.seen.quantile(); known {
		t.Error("a quantile of nothing")
	}
	for range 100 {
		h.After(time.Second, &Attempt{Sent: time.Second - 30*ms}, Answer{Result: Cancelled})
	}
	if q, _ := h.seen.quantile(); q != 30*ms {
		t.Errorf("the quantile is %v, want 30ms", q)
	}
}
