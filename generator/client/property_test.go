package client

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/generator/plan"
	"knee/generator/record"
)

// A probe lets everything pass and holds that a Caller calls behaviours as it
// says: After once for each attempt that passed, and for each that followed from
// it by the probe's own wish, of which it has none.
type probe struct {
	fault *string
	last  uint64
	open  map[uint64]bool
	now   time.Duration
}

func (p *probe) Before(now time.Duration, a *Attempt) (time.Duration, string) {
	p.tick(now)
	if a.Mark.Count != 0 {
		*p.fault = fmt.Sprintf("attempt %d has the mark of another one", a.Number)
	}
	p.last++
	a.Mark.Count = p.last
	p.open[p.last] = true
	return now, ""
}

func (p *probe) After(now time.Duration, a *Attempt, e Answer) time.Duration {
	p.tick(now)
	if !p.open[a.Mark.Count] {
		*p.fault = fmt.Sprintf("attempt %d, mark %d, ends as %+v and has not passed, or is over", a.Number, a.Mark.Count, e)
	}
	delete(p.open, a.Mark.Count)
	return never
}

// tick holds that time does not go back, but for what a late shell learns late.
func (p *probe) tick(now time.Duration) { p.now = max(p.now, now) }

// drawChain draws up to five behaviours in any order that works.
func drawChain(t *rapid.T, fault *string) (chain []Behaviour, probes []*probe) {
	kinds := rapid.SliceOfN(rapid.SampledFrom(Registry.Names()), 0, 5).Draw(t, "kinds")
	add := func() {
		p := &probe{fault: fault, open: map[uint64]bool{}}
		probes = append(probes, p)
		chain = append(chain, p)
	}
	hedges := false
	for _, kind := range kinds {
		if kind == "retry_budget" && Attempts(chain) == 1 || kind == "hedge" && hedges {
			continue
		}
		hedges = hedges || kind == "hedge"
		if rapid.Bool().Draw(t, "probe") {
			add()
		}
		info, err := Registry.Lookup(kind)
		if err != nil {
			t.Fatal(err)
		}
		knobs := info.Knobs()
		drawKnobs(t, knobs)
		b, err := info.New(Setup{Clients: 3, Rand: rand.New(rand.NewPCG(1, 2))}, knobs)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, b)
	}
	if rapid.Bool().Draw(t, "probe") || len(chain) == 0 {
		add()
	}
	return chain, probes
}

// drawKnobs makes things happen within a second.
func drawKnobs(t *rapid.T, knobs any) {
	some := func(values ...time.Duration) time.Duration { return rapid.SampledFrom(values).Draw(t, "duration") }
	few := rapid.IntRange(1, 3)
	switch k := knobs.(type) {
	case *retryKnobs:
		k.MaxAttempts = few.Draw(t, "max_attempts")
		k.Backoff = Backoff{Base: some(0, 5*ms, 50*ms), Cap: 200 * ms, Jitter: rapid.SampledFrom([]string{jitterNone, jitterFull, jitterDecorrelated}).Draw(t, "jitter")}
	case *budgetKnobs:
		k.Rule = rapid.SampledFrom([]string{ruleRatio, ruleFinagle, ruleEnvoy, ruleGRPC}).Draw(t, "rule")
		k.Ratio, k.CountWaiting = 1, rapid.Bool().Draw(t, "count_waiting")
	case *throttleKnobs:
		k.K, k.Window = 1.5, some(10*ms, time.Second)
	case *hedgeKnobs:
		k.Delay, k.MaxAttempts = some(0, 1, 10*ms, 50*ms), few.Draw(t, "max_attempts")
		k.NonFatal = rapid.SampledFrom([][]string{nil, {"rejected"}, {"rejected", "failed", "timeout"}}).Draw(t, "non_fatal")
	case *breakerKnobs:
		k.Failures, k.Timeout = rapid.Uint32Range(1, 5).Draw(t, "failures"), some(1, 20*ms, time.Second)
	case *windowKnobs:
		k.Credits, k.Least = few.Draw(t, "credits"), rapid.IntRange(0, 1).Draw(t, "least")
	case *blockingKnobs:
		k.MaxInFlight, k.Buffer, k.MaxBlock = few.Draw(t, "max_in_flight"), rapid.IntRange(0, 2).Draw(t, "buffer"), some(0, 10*ms, time.Minute)
	}
}

// A ledger is a Watcher that holds what every run has to keep to.
type ledger struct {
	t        *rapid.T
	now      time.Duration
	most     int // attempts of an original
	inFlight int
	by       map[uint64]*account
}

type account struct {
	attempts, unsent int
	numbers          map[int]bool
	good, late       bool // an answer was
	ended            bool
	kind             record.Kind
	deadline         time.Duration
}

func (l *ledger) Attempted(a *Attempt, first bool) {
	b := l.by[a.Arrival.Seq]
	switch {
	case b.ended:
		l.t.Fatalf("original %d is sent after its ending", a.Arrival.Seq)
	case first != (b.attempts == b.unsent):
		l.t.Fatalf("original %d, %d sent, %d of them not after all: first is %v", a.Arrival.Seq, b.attempts, b.unsent, first)
	case a.Number > 1 && l.now >= a.Deadline || a.Deadline != b.deadline || a.Timeout > a.Deadline:
		l.t.Fatalf("attempt %d is sent at %v until %v with a deadline of %v, the original has %v", a.Number, l.now, a.Timeout, a.Deadline, b.deadline)
	case a.Planned > l.now || a.Sent != l.now:
		l.t.Fatalf("attempt %d, planned at %v, sent at %v, is sent at %v", a.Number, a.Planned, a.Sent, l.now)
	}
	if b.numbers[a.Number] {
		l.t.Fatalf("two attempts of original %d are number %d", a.Arrival.Seq, a.Number)
	}
	b.numbers[a.Number] = true
	if b.attempts++; b.attempts > l.most {
		l.t.Fatalf("%d attempts of original %d, want at most %d", b.attempts, a.Arrival.Seq, l.most)
	}
	l.inFlight++
}

func (l *ledger) Unattempted(a *Attempt, first bool) {
	b := l.by[a.Arrival.Seq]
	b.unsent++
	if first != (b.attempts == b.unsent) {
		l.t.Fatalf("original %d, %d sent, %d of them not after all: first is %v", a.Arrival.Seq, b.attempts, b.unsent, first)
	}
}

func (l *ledger) Ended(o *plan.Arrival, e *record.Ending) {
	b := l.by[o.Seq]
	switch sent := b.attempts > b.unsent; {
	case b.ended:
		l.t.Fatalf("original %d ended twice", o.Seq)
	case (e.Kind == record.Withheld || e.Kind == record.Unsent) == sent:
		l.t.Fatalf("original %d, sent: %v, ended as %v", o.Seq, sent, e.Kind)
	case (e.Kind == record.Good) != b.good:
		l.t.Fatalf("original %d, good answer: %v, ended as %v", o.Seq, b.good, e.Kind)
	case (e.Kind == record.Late) != (b.late && !b.good):
		l.t.Fatalf("original %d, late answer: %v, ended as %v", o.Seq, b.late, e.Kind)
	case (e.Reason == "") != (e.Kind == record.Good || e.Kind == record.Late || e.Kind == record.Timeout || e.Kind == record.Unfinished):
		l.t.Fatalf("original %d ended as %v for %q", o.Seq, e.Kind, e.Reason)
	case e.Done > l.now || e.Done < e.Planned:
		l.t.Fatalf("original %d of %v ended at %v, and it is %v", o.Seq, e.Planned, e.Done, l.now)
	}
	b.ended, b.kind = true, e.Kind
}

// Whatever behaviours stand in whatever order, and whatever is answered when, on
// time or late: each original ends once, and as its answers say; nothing is sent
// too often or too late; and what is in flight is what was sent and has not ended.
func TestWhateverBehavioursDo(t *testing.T) {
	const kinds = int(record.Unfinished) + 1
	seen := map[record.Kind]int{}
	check := func(t *rapid.T) {
		var fault string
		chain, probes := drawChain(t, &fault)
		o := Options{
			Classes:     []plan.Class{{Name: "all", Timeout: 40 * ms, Deadline: rapid.SampledFrom([]time.Duration{40 * ms, 100 * ms, time.Second}).Draw(t, "deadline")}},
			Grace:       rapid.SampledFrom([]time.Duration{0, 30 * ms}).Draw(t, "grace"),
			MaxInFlight: rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(t, "max_in_flight"),
			Behaviours:  chain,
		}
		l := &ledger{t: t, most: Attempts(chain), by: map[uint64]*account{}}
		c, err := NewCaller(o, l)
		if err != nil {
			t.Fatal(err)
		}
		var open []*Attempt
		drop := func(a *Attempt) {
			for i := range open {
				if open[i] == a {
					open = append(open[:i], open[i+1:]...)
					l.inFlight--
					return
				}
			}
			t.Fatalf("attempt %d is cancelled and is not open", a.Number)
		}
		carryOut := func(effects []Effect) {
			for _, e := range effects {
				if e.Kind == Send {
					open = append(open, e.Attempt)
				} else {
					drop(e.Attempt)
				}
			}
		}
		answers := []Answer{
			{},
			{Degraded: true},
			{Granted: true, Credits: 1},
			{Granted: true, Credits: 3},
			refused, broken,
			{Result: Rejected, Reason: "rate", RetryAfter: 20 * ms},
			{Result: Rejected, Reason: "no", NoRetry: true},
			{Result: NotSent, Reason: "ports"},
			{Result: Rejected, Reason: "full", Granted: true},
		}
		seq, advanced := uint64(0), time.Duration(-1)
		advance := func() {
			advanced = l.now
			carryOut(c.Advance(l.now))
		}
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) {
				seq++
				at := l.now
				l.by[seq] = &account{numbers: map[int]bool{}, deadline: at + o.Classes[0].Deadline}
				carryOut(c.Call(l.now, &plan.Arrival{Seq: seq, At: at, Client: rapid.Uint32Range(0, 3).Draw(t, "client")}, never))
			},
			"answer": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip("nothing is open")
				}
				a := open[rapid.IntRange(0, len(open)-1).Draw(t, "which")]
				e := answers[rapid.IntRange(0, len(answers)-1).Draw(t, "answer")]
				drop(a)
				if b := l.by[a.Arrival.Seq]; e.Result == OK && l.now <= a.Timeout+o.Grace {
					told := advanced >= a.Timeout // an answer that comes at the timeout has to come before that
					b.good, b.late = b.good || l.now <= a.Timeout && !told, b.late || l.now > a.Timeout || told
				}
				carryOut(c.Answer(l.now, a, e))
			},
			"come in time": func(t *rapid.T) {
				if next := c.Next(); next != never {
					l.now = max(l.now, next)
					advance()
				}
			},
			"come late": func(t *rapid.T) {
				l.now += rapid.SampledFrom([]time.Duration{0, 1, 3 * ms, 25 * ms, 70 * ms}).Draw(t, "time")
				if rapid.Bool().Draw(t, "advance") {
					advance()
				}
			},
			"": func(t *rapid.T) {
				n := 0
				for _, b := range l.by {
					if !b.ended {
						n++
					}
				}
				if fault != "" || c.Open() != n || c.InFlight() != len(open) || l.inFlight != len(open) || o.MaxInFlight > 0 && len(open) > o.MaxInFlight {
					t.Fatalf("%s: %d open of %d, %d in flight of %d, %d", fault, c.Open(), n, c.InFlight(), len(open), l.inFlight)
				}
			},
		})
		if rapid.Bool().Draw(t, "abandon") {
			carryOut(c.Abandon(l.now))
		}
		for c.Next() != never {
			l.now = max(l.now, c.Next())
			advance()
		}
		for _, p := range probes {
			if len(p.open) != 0 {
				t.Fatalf("%d attempts passed a probe and never ended", len(p.open))
			}
		}
		for s, b := range l.by {
			if !b.ended {
				t.Fatalf("original %d has not ended", s)
			}
			seen[b.kind]++
		}
		if fault != "" || len(open) != 0 || c.InFlight() != 0 || c.Open() != 0 {
			t.Fatalf("%s: %d are left, %d in flight, %d open", fault, len(open), c.InFlight(), c.Open())
		}
	}
	// A short check draws so few cases that now and then a kind of ending is missing.
	for round := 0; round == 0 || len(seen) < kinds && round < 50; round++ {
		rapid.Check(t, check)
	}
	if len(seen) < kinds {
		t.Errorf("endings %v: want some of every kind, or the test says little", seen)
	}
}
