package client

import "time"

// tokenBudget is the RetryBudget of Finagle, which Linkerd and tower have as
// well: a first attempt leaves 1,000 tokens, which expire with the window, and a
// further one takes 1000/ratio of them. The reserve is enough for so many each
// second of the window, and is there from the start. Tokens are whole numbers, so
// that a ratio of 0.15 takes 6,666; tower counts with 1 in place of 1,000, takes
// 6, and allows 16.7 %.
type tokenBudget struct {
	price   int64
	reserve int64
	balance slots
}

// deposit is what a first attempt leaves.
const deposit = 1000

func newTokenBudget(ratio, reserve float64, window time.Duration) *tokenBudget {
	price := int64(deposit / ratio)
	return &tokenBudget{price, int64(reserve * window.Seconds() * float64(price)), newSlots(window, budgetSlots)}
}

func (b *tokenBudget) first(now time.Duration) { b.balance.add(now, deposit) }

func (b *tokenBudget) plan(now time.Duration) bool {
	if b.reserve+b.balance.sum(now) < b.price {
		return false
	}
	b.balance.add(now, -b.price)
	return true
}

func (*tokenBudget) begin(time.Duration, bool, bool) bool { return true }
func (*tokenBudget) end(time.Duration, course, Result)    {}
