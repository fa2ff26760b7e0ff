package client

import "time"

// tokenThrottle is gRPC's retry throttling (proposal A6): a failure takes a
// token, a success gives a part of one back, and further attempts are allowed
// while more than half of the tokens are there. The token is taken before the
// question is asked. Failures are all endings but a success, as gRPC's retryable
// statuses are; further attempts fall to a share of the tokens given back,
// ratio/(1+ratio), of failures among all endings.
type tokenThrottle struct {
	tokens, most, back int // in thousandths
}

func newTokenThrottle(most int, ratio float64) *tokenThrottle {
	return &tokenThrottle{tokens: most * 1000, most: most * 1000, back: int(ratio*1000 + rounding)}
}

func (*tokenThrottle) first(time.Duration) {}

func (t *tokenThrottle) plan(time.Duration) bool { return t.tokens > t.most/2 }

func (*tokenThrottle) begin(time.Duration, bool, bool) bool { return true }

func (t *tokenThrottle) end(_ time.Duration, _ course, r Result) {
	switch r {
	case OK:
		t.tokens = min(t.tokens+t.back, t.most)
	case Rejected, Failed, TimedOut:
		t.tokens = max(t.tokens-1000, 0)
	}
}
