package client

import (
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
)

// plans returns how many of n further attempts a budget allows now.
func plans(b budget, now time.Duration, n int) int {
	allowed := 0
	for range n {
		if b.plan(now) {
			allowed++
		}
	}
	return allowed
}

func firsts(b budget, now time.Duration, n int) {
	for range n {
		b.first(now)
	}
}

func TestTokenBudget(t *testing.T) {
	const window = 10 * time.Second
	t.Run("defaults of Finagle", func(t *testing.T) {
		b := newTokenBudget(0.2, 10, window)
		if b.price != 5000 || b.reserve != 500_000 {
			t.Errorf("a further attempt takes %d, the reserve is %d: want 5000 and 500000", b.price, b.reserve)
		}
		if got := plans(b, 0, 1000); got != 100 {
			t.Errorf("%d allowed of nothing, want 100", got)
		}
		b = newTokenBudget(0.2, 10, window)
		firsts(b, 0, 100)
		if got := plans(b, 0, 1000); got != 120 {
			t.Errorf("%d allowed after 100 first attempts, want 120", got)
		}
	})
	t.Run("a tenth, no reserve", func(t *testing.T) {
		b := newTokenBudget(0.1, 0, window)
		firsts(b, 0, 9)
		if plans(b, 0, 1) != 0 {
			t.Error("one allowed after 9")
		}
		firsts(b, 0, 1)
		if got := plans(b, 0, 2); got != 1 {
			t.Errorf("%d allowed after 10, want 1", got)
		}
	})
	t.Run("tokens are whole", func(t *testing.T) {
		for ratio, want := range map[float64]int64{0.15: 6666, 0.35: 2857, 0.3: 3333, 0.2: 5000} {
			if got := newTokenBudget(ratio, 0, window).price; got != want {
				t.Errorf("a ratio of %v takes %d, want %d", ratio, got, want)
			}
		}
	})
	t.Run("tokens expire", func(t *testing.T) {
		b := newTokenBudget(0.1, 0, window)
		firsts(b, 0, 100)
		if got := plans(b, window-1, 5); got != 5 {
			t.Errorf("%d allowed within the window, want 5", got)
		}
		if got := plans(b, window, 5); got != 0 {
			t.Errorf("%d allowed after it, want none", got)
		}
	})
	t.Run("the reserve of many callers is what counts", func(t *testing.T) {
		const callers = 1000
		allowed := 0
		for range callers {
			b := newTokenBudget(0.2, 10, window)
			for second := range 10 { // after the window that the reserve is for
				allowed += plans(b, window+time.Duration(second)*time.Second, 1000)
			}
		}
		if perSecond := allowed / 10; perSecond != 10*callers {
			t.Errorf("%d callers may try again %d times a second, want 10,000", callers, perSecond)
		}
	})
}

func TestRatioBudget(t *testing.T) {
	b := newRatioBudget(0.1, 10*time.Second)
	firsts(b, 0, 9)
	if plans(b, 0, 1) != 0 {
		t.Error("one allowed after 9")
	}
	firsts(b, 0, 91)
	if got := plans(b, 5*time.Second, 1000); got != 10 {
		t.Errorf("%d allowed after 100, want 10", got)
	}
	firsts(b, 10*time.Second, 20)
	if got := plans(b, 10*time.Second, 1000); got != 0 {
		t.Errorf("%d allowed while the 10 before count, want none", got)
	}
	if got := plans(b, 15*time.Second, 1000); got != 2 {
		t.Errorf("%d allowed of the 20 that count, want 2", got)
	}
}

func TestConcurrentBudget(t *testing.T) {
	for active, want := range map[int]int{0: 3, 19: 3, 20: 4, 25: 5, 100: 20} {
		b := concurrentBudget{share: 0.2, least: 3}
		if got := b.allowed(active); got != want {
			t.Errorf("%d allowed beside %d, want %d", got, active, want)
		}
	}
}

// What is counted of an attempt is what was counted when it began.
func TestConcurrentBudgetCountsBothWays(t *testing.T) {
	for _, waits := range []bool{true, false} {
		b := concurrentBudget{share: 0.2, least: 1, countWaiting: waits}
		dropped := b.plan(0)
		b.end(0, hadPlan, Cancelled) // it was planned and never began
		begun := b.plan(0) && b.begin(0, true, true)
		second := b.plan(0) && b.begin(0, true, true)
		if !dropped || !begun || second || b.active != 1 || b.extra != 1 {
			t.Errorf("waits count: %v: one dropped (%v), one begun (%v), a second (%v), %d under way, %d of them further ones: want 1 and 1", waits, dropped, begun, second, b.active, b.extra)
		}
		b.end(0, hadPlan|hasBegun|isFurther, Rejected)
		if b.active != 0 || b.extra != 0 {
			t.Errorf("waits count: %v: %d under way, %d further ones: want none", waits, b.active, b.extra)
		}
	}
}

func TestTokenThrottle(t *testing.T) {
	b := newTokenThrottle(10, 0.1)
	for i, want := range []bool{true, true, true, true, false, false} {
		b.end(0, 0, Rejected)
		if b.plan(0) != want || b.tokens != (9-i)*1000 {
			t.Errorf("after %d failures %d thousandths of a token, allowed %v: want %d, %v", i+1, b.tokens, b.plan(0), (9-i)*1000, want)
		}
	}
	successes := 0
	for ; !b.plan(0); successes++ {
		b.end(0, 0, OK)
	}
	if successes != 11 {
		t.Errorf("%d successes until one is allowed, want 11", successes)
	}
	// Of 11 endings one may fail, for ever.
	for range 1000 {
		b.end(0, 0, Rejected)
		for range 10 {
			b.end(0, 0, OK)
		}
	}
	if !b.plan(0) {
		t.Error("none allowed at a failure among 11")
	}
	for range 1000 {
		b.end(0, 0, Rejected)
		for range 9 {
			b.end(0, 0, OK)
		}
	}
	if b.plan(0) {
		t.Error("one allowed at a failure among 10")
	}
	b.end(0, 0, Cancelled)
	if b.end(0, 0, NotSent); b.tokens < 0 {
		t.Error("what was never answered took a token")
	}
}

// amplification is how many attempts a server sees of each original when it
// refuses all of them.
func amplification(t *testing.T, behaviours ...Behaviour) float64 {
	t.Helper()
	s := newStage(t, Options{
		Classes:    []plan.Class{{Name: "all", Timeout: 100 * ms, Deadline: time.Hour}},
		Behaviours: behaviours,
	})
	const originals = 2000
	for i := range originals {
		s.to(time.Duration(i) * 10 * ms)
		s.call(0)
		for len(s.open) > 0 {
			s.answer(0, refused)
		}
	}
	for s.Next() != never {
		s.to(s.Next() - origin)
		for len(s.open) > 0 {
			s.answer(0, refused)
		}
	}
	return float64(len(s.sentAt)) / originals
}

func budgetOf(t *testing.T, change func(*budgetKnobs)) Behaviour {
	return build(t, "retry_budget", 1, change)
}

// A budget of a tenth turns three times the load into 1.1 times.
func TestAmplification(t *testing.T) {
	if got := amplification(t, plainRetry(t, 3, 0)); got != 3 {
		t.Errorf("%v without a budget, want 3", got)
	}
	for rule, want := range map[string]float64{ruleRatio: 1.1, ruleFinagle: 1.2, ruleGRPC: 1} {
		none := 0.0
		b := budgetOf(t, func(k *budgetKnobs) { k.Rule, k.Reserve = rule, &none })
		if got := amplification(t, plainRetry(t, 3, 0), b); got < want-0.01 || got > want+0.01 {
			t.Errorf("%v with %s, want about %v", got, rule, want)
		}
	}
}

// The budget that Envoy keeps of what is under way does not hold when what waits
// for its backoff is left out of it.
func TestWaitingRetriesDefeatAConcurrencyBudget(t *testing.T) {
	waiting := func(count bool) float64 {
		return amplification(t, plainRetry(t, 3, 5*time.Second), budgetOf(t, func(k *budgetKnobs) {
			k.Rule, k.CountWaiting = ruleEnvoy, count
		}))
	}
	if got := waiting(true); got > 1.02 {
		t.Errorf("%v times the load when what waits counts, want nearly 1: three at once", got)
	}
	if got := waiting(false); got < 2.9 {
		t.Errorf("%v times the load when it does not, want nearly 3", got)
	}
}

// What a budget refuses leaves the original its last ending.
func TestBudgetLeavesTheEnding(t *testing.T) {
	s := newStage(t, Options{Behaviours: []Behaviour{plainRetry(t, 3, 20*ms), budgetOf(t, nil)}})
	s.call(0)
	s.to(10 * ms)
	s.answer(0, refused)
	s.wantSent(0)
	s.wantOnly(record.Ending{Kind: record.Rejected, Reason: "queue_full", Done: 10 * ms})
}

func TestBudgetBeforeWhatItLimits(t *testing.T) {
	_, err := NewCaller(Options{
		Classes:    []plan.Class{{Name: "all", Timeout: ms, Deadline: ms}},
		Behaviours: []Behaviour{budgetOf(t, nil), plainRetry(t, 3, 0)},
	}, nil)
	if err == nil {
		t.Error("a budget in front of the retries is accepted")
	}
}
