package client

import "time"

// concurrentBudget is Envoy's retry_budget: further attempts under way may be a
// share of all attempts under way, and so many in any case. Envoy's own count of
// what is under way leaves out what waits for its backoff, so that a long one
// lets any number of further attempts pile up: see count_waiting.
type concurrentBudget struct {
	share        float64
	least        int
	countWaiting bool

	active int // attempts that have begun and are not over
	extra  int // further attempts among those, and what waits if that counts
}

// allowed returns how many further attempts may be under way beside active
// attempts in all.
func (b *concurrentBudget) allowed(active int) int {
	return max(int(b.share*float64(active)), b.least)
}

func (*concurrentBudget) first(time.Duration) {}

func (b *concurrentBudget) plan(time.Duration) bool {
	if !b.countWaiting {
		return true
	}
	return b.grant()
}

// grant counts a further attempt, if one is allowed.
func (b *concurrentBudget) grant() bool {
	if b.extra >= b.allowed(b.active) {
		return false
	}
	b.extra++
	return true
}

func (b *concurrentBudget) begin(_ time.Duration, further, planned bool) bool {
	if further && !(planned && b.countWaiting) && !b.grant() {
		return false
	}
	b.active++
	return true
}

func (b *concurrentBudget) end(_ time.Duration, c course, _ Result) {
	if c&hasBegun != 0 {
		b.active--
	}
	if c&isFurther != 0 || c&hadPlan != 0 && b.countWaiting {
		b.extra--
	}
}
