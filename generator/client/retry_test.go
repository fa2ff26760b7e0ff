package client

import (
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// An attempt or a wait that cannot end before the deadline is not begun: with a
// deadline of 1 s, attempts of 400 ms and waits of 200 and 400 ms there are
// attempts at 0 and 600; the next would begin at 1,400.
func TestRetryGivesUpAtTheDeadline(t *testing.T) {
	s := newStage(t, Options{
		Close:   true,
		Classes: []plan.Class{{Name: "all", Timeout: 400 * ms, Deadline: time.Second}},
		Behaviours: []Behaviour{retries(t, func(k *retryKnobs) {
			k.MaxAttempts, k.Backoff = 5, Backoff{Base: 200 * ms, Cap: 10 * time.Second, Jitter: jitterNone}
		})},
	})
	s.call(0)
	s.to(5 * time.Second)
	s.wantSent(0, 600*ms)
	s.wantOnly(record.Ending{Kind: record.Timeout, Sent: 600 * ms, Done: time.Second})
}

// The last attempt has what is left of the deadline.
func TestAttemptsEndWithTheDeadline(t *testing.T) {
	s := newStage(t, Options{
		Close:      true,
		Classes:    []plan.Class{{Name: "all", Timeout: 100 * ms, Deadline: 250 * ms}},
		Behaviours: []Behaviour{plainRetry(t, 10, 0)},
	})
	s.call(0)
	s.to(200 * ms)
	if a := s.open[0]; a.Number != 3 || a.Timeout-origin != 250*ms || a.Deadline-origin != 250*ms {
		t.Errorf("attempt %d has until %v of %v: want the third until 250ms", a.Number, a.Timeout-origin, a.Deadline-origin)
	}
	s.to(time.Second)
	s.wantSent(0, 100*ms, 200*ms)
	s.wantOnly(record.Ending{Kind: record.Timeout, Sent: 200 * ms, Done: 250 * ms})
}

// One repetition, by how the first attempt ends after 10 ms.
func TestWhatIsRetried(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*retryKnobs)
		answer Answer
		want   int // attempts
	}{
		{"rejected", nil, refused, 2},
		{"failed", nil, broken, 2},
		{"a success", nil, Answer{}, 1},
		{"could not be sent", nil, Answer{Result: NotSent, Reason: "ports"}, 1},
		{"not asked to", nil, Answer{Result: Rejected, Reason: "queue_full", NoRetry: true}, 1},
		{"not listed", func(k *retryKnobs) { k.On = []string{"timeout"} }, refused, 1},
		{"its reason is listed", func(k *retryKnobs) { k.On = []string{"rejected:queue_full"} }, refused, 2},
		{"another reason is listed", func(k *retryKnobs) { k.On = []string{"rejected:rate"} }, refused, 1},
		{"its kind is listed", func(k *retryKnobs) { k.On = []string{"timeout", "failed:reset"} }, broken, 2},
		{"its reason is listed as a kind", func(k *retryKnobs) { k.On = []string{"failed:queue_full"} }, refused, 1},
		{"uncertain", func(k *retryKnobs) { k.RetryUncertain = false }, broken, 1},
		{"certain", func(k *retryKnobs) { k.RetryUncertain = false }, Answer{Result: Failed, Reason: "refused"}, 2},
		{"a certain no", func(k *retryKnobs) { k.RetryUncertain = false }, refused, 2},
		{"one attempt", func(k *retryKnobs) { k.MaxAttempts = 1 }, refused, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{Behaviours: []Behaviour{retries(t, func(k *retryKnobs) {
				k.MaxAttempts = 2
				if c.change != nil {
					c.change(k)
				}
			})}})
			s.call(0)
			s.to(10 * ms)
			s.answer(0, c.answer)
			s.to(500 * ms)
			if len(s.sentAt) != c.want {
				t.Errorf("%d attempts, want %d", len(s.sentAt), c.want)
			}
		})
	}
}

func TestUncertain(t *testing.T) {
	for _, c := range []struct {
		answer Answer
		want   bool
	}{
		{Answer{Result: TimedOut}, true},
		{Answer{Result: Failed, Reason: "eof"}, true},
		{Answer{Result: Failed, Reason: "reset_upload"}, true},
		{Answer{Result: Failed, Reason: "status_502"}, true},
		{Answer{Result: Failed, Reason: "something new"}, true},
		{Answer{Result: Failed, Reason: "status_500"}, false},
		{Answer{Result: Failed, Reason: "refused"}, false},
		{Answer{Result: Failed, Reason: "reset_connect"}, false},
		{Answer{Result: Rejected, Reason: "queue_full"}, false},
		{Answer{Result: OK}, false},
	} {
		if got := Uncertain(c.answer); got != c.want {
			t.Errorf("%+v is uncertain: %v, want %v", c.answer, got, c.want)
		}
	}
}

// When the second attempt is sent, by what the server asked for with its refusal
// after 10 ms. The backoff is 20 ms.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name   string
		asked  time.Duration
		change func(*retryKnobs)
		want   time.Duration // 0: no second attempt
	}{
		{"nothing", 0, nil, 30 * ms},
		{"less than the backoff", 5 * ms, nil, 30 * ms},
		{"more", 100 * ms, nil, 110 * ms},
		{"more than may be asked for", time.Hour, func(k *retryKnobs) { k.MaxRetryAfter = 200 * ms }, 210 * ms},
		{"it is not heard", 100 * ms, func(k *retryKnobs) { k.MaxRetryAfter = 0 }, 30 * ms},
		{"beyond the deadline", 990 * ms, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{Behaviours: []Behaviour{retries(t, func(k *retryKnobs) {
				k.Backoff = Backoff{Base: 20 * ms, Cap: 20 * ms, Jitter: jitterNone}
				if c.change != nil {
					c.change(k)
				}
			})}})
			s.call(0)
			s.to(10 * ms)
			s.answer(0, Answer{Result: Rejected, Reason: "rate", RetryAfter: c.asked})
			if c.want == 0 {
				s.wantSent(0)
				s.wantOnly(record.Ending{Kind: record.Rejected, Reason: "rate", Done: 10 * ms})
				return
			}
			s.to(c.want)
			s.wantSent(0, c.want)
		})
	}
}

// Many callers who are told the same instant do not all come at it, and none
// before it.
func TestRetryAfterSpreads(t *testing.T) {
	s := newStage(t, Options{
		Classes: []plan.Class{{Name: "all", Timeout: time.Second, Deadline: 10 * time.Second}},
		Behaviours: []Behaviour{retries(t, func(k *retryKnobs) {
			k.Backoff = Backoff{Base: 200 * ms, Cap: 200 * ms, Jitter: jitterFull}
		})},
	})
	const callers = 200
	for range callers {
		s.call(0)
	}
	for range callers {
		s.answer(0, Answer{Result: Rejected, Reason: "rate", RetryAfter: time.Second})
	}
	s.to(time.Second - 1)
	if n := len(s.sentAt) - callers; n != 0 {
		t.Errorf("%d came too early", n)
	}
	s.to(time.Second + 100*ms)
	if n := len(s.sentAt) - callers; n < callers/3 || n > callers*2/3 {
		t.Errorf("%d of %d came within the first half of the jitter, want about half", n, callers)
	}
	s.to(time.Second + 200*ms)
	if n := len(s.sentAt) - callers; n != callers {
		t.Errorf("%d of %d came within the jitter, want all", n, callers)
	}
}

// A repetition without a wait is planned for the instant of the answer, and sent
// when the shell comes to it: what lies between is lag.
func TestRetryWithoutWaitIsPlannedAtTheAnswer(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{plainRetry(t, 2, 0)}})
	s.call(0)
	if effects := s.Answer(origin+10*ms, s.open[0], refused); len(effects) != 0 {
		t.Fatalf("the answer led to %v: want it sent by the next Advance", effects)
	}
	effects := s.Advance(origin + 13*ms)
	if len(effects) != 1 || effects[0].Kind != Send {
		t.Fatalf("effects %v, want one sent", effects)
	}
	if a := effects[0].Attempt; a.Planned-origin != 10*ms || a.Sent-origin != 13*ms || a.Timeout-origin != 110*ms {
		t.Errorf("planned at %v, sent at %v, until %v: want 10ms, 13ms, 110ms", a.Planned-origin, a.Sent-origin, a.Timeout-origin)
	}
}

// Decorrelated waits go from the base to three times the wait before, and grow by
// that.
func TestDecorrelatedRetries(t *testing.T) {
	s := newStage(t, Options{
		Classes: []plan.Class{{Name: "all", Timeout: time.Hour, Deadline: time.Hour}},
		Behaviours: []Behaviour{retries(t, func(k *retryKnobs) {
			k.MaxAttempts, k.Backoff = 100, Backoff{Base: 10 * ms, Cap: time.Minute, Jitter: jitterDecorrelated}
		})},
	})
	s.auto = func(*Attempt) (time.Duration, Answer) { return 0, refused }
	s.call(0)
	s.to(time.Hour - 1)
	before, highest := 10*ms, time.Duration(0)
	for i := 1; i < len(s.sentAt); i++ {
		wait := s.sentAt[i] - s.sentAt[i-1]
		if wait < 10*ms || wait > min(3*before, time.Minute) {
			t.Errorf("wait %d is %v after one of %v: want 10ms to %v", i, wait, before, 3*before)
		}
		before, highest = wait, max(highest, wait)
	}
	if len(s.sentAt) != 100 || highest < time.Second {
		t.Errorf("%d attempts, waits of up to %v: want 100, and of a second", len(s.sentAt), highest)
	}
}

func TestPatience(t *testing.T) {
	plain := retries(t, func(k *retryKnobs) {
		k.MaxAttempts, k.Backoff = 3, Backoff{Base: 200 * ms, Cap: 10 * time.Second, Jitter: jitterNone}
	})
	full := retries(t, nil) // 3 attempts, 25 and 50 ms at most
	decorrelated := retries(t, func(k *retryKnobs) {
		k.MaxAttempts, k.Backoff = 3, Backoff{Base: 100 * ms, Cap: 10 * time.Second, Jitter: jitterDecorrelated}
	})
	hundred := retries(t, func(k *retryKnobs) { k.MaxAttempts = 100 })
	hedged := build(t, "hedge", 1, func(k *hedgeKnobs) { k.Delay, k.MaxAttempts = 50*ms, 3 })
	measured := build[hedgeKnobs](t, "hedge", 1, nil)
	breaker := build[breakerKnobs](t, "breaker", 1, nil)
	for _, c := range []struct {
		name     string
		chain    []Behaviour
		timeout  time.Duration
		want     time.Duration
		attempts int
	}{
		{"nothing", nil, 100 * ms, 100 * ms, 1},
		{"nothing that takes time", []Behaviour{breaker}, 100 * ms, 100 * ms, 1},
		{"retries", []Behaviour{plain}, 400 * ms, 1800 * ms, 3},
		{"retries by default", []Behaviour{full}, 100 * ms, 375 * ms, 3},
		{"decorrelated", []Behaviour{decorrelated}, 100 * ms, 1500 * ms, 3},
		{"hedges", []Behaviour{hedged}, 400 * ms, 500 * ms, 3},
		{"hedges, each after one that failed", []Behaviour{hedged}, 20 * ms, 60 * ms, 3},
		{"hedges by quantile", []Behaviour{measured}, 100 * ms, 200 * ms, 2},
		{"retried hedges", []Behaviour{plain, breaker, hedged}, 400 * ms, 2100 * ms, 9},
		{"too many", []Behaviour{hundred, hundred, hundred, hundred}, 0, 24 * time.Hour, 1 << 20},
		{"too long", []Behaviour{plain}, 20 * time.Hour, 24 * time.Hour, 3},
	} {
		if got := Patience(c.chain, c.timeout); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := Attempts(c.chain); got != c.attempts {
			t.Errorf("%s: %d attempts, want %d", c.name, got, c.attempts)
		}
	}
}
