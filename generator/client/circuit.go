package client

import "time"

// BreakerState is the state of a Breaker.
type BreakerState uint8

// A closed breaker lets everything pass, an open one nothing, a half-open one a
// few probes.
const (
	BreakerClosed BreakerState = iota
	BreakerHalfOpen
	BreakerOpen
)

// BreakerSettings are those of gobreaker of the same names.
type BreakerSettings struct {
	MaxRequests  uint32        // probes while half open, and successes in a row that close it; 0 means 1
	Interval     time.Duration // how long counts are kept while closed; 0: until it opens
	BucketPeriod time.Duration // part of the interval by which counts are forgotten; 0: all at once
	Timeout      time.Duration // how long it stays open; 0 means 60s
	// Trips says whether counts open it. It is asked at each failure while closed;
	// nil: at more than 5 failures in a row.
	Trips func(BreakerCounts) bool
}

// BreakerVerdict is how a request ended in the eyes of a Breaker.
type BreakerVerdict uint8

// An excluded request is neither a success nor a failure.
const (
	Succeeded BreakerVerdict = iota
	Broke
	Excluded
)

// A BreakerTicket is what a Breaker has to be told again when a request ends: the
// state of affairs in which it began.
type BreakerTicket struct{ Generation, Age uint64 }

// A Breaker is a circuit breaker, step for step that of github.com/sony/gobreaker
// v2.4.0, with time as an argument. It is still open when Timeout has just passed,
// and half open a nanosecond later. What began in one generation, before the state
// last changed or the counts were last cleared, counts for nothing in the next.
type Breaker struct {
	settings   BreakerSettings
	period     time.Duration // of a bucket
	state      BreakerState
	generation uint64
	counts     rollingCounts
	start      time.Duration // of the generation
	expiry     time.Duration // of the generation; Never when it has none
	last       time.Duration // latest instant seen
}

// NewBreaker returns a closed breaker at instant 0.
func NewBreaker(s BreakerSettings) *Breaker {
	s.MaxRequests = max(s.MaxRequests, 1)
	if s.Timeout <= 0 {
		s.Timeout = time.Minute
	}
	if s.Trips == nil {
		s.Trips = func(c BreakerCounts) bool { return c.ConsecutiveFailures > 5 }
	}
	b := &Breaker{settings: s, period: s.Interval}
	buckets := 1
	if s.Interval > 0 && s.BucketPeriod > 0 {
		buckets = int((s.Interval + s.BucketPeriod - 1) / s.BucketPeriod)
		b.period = s.BucketPeriod
	}
	b.counts.buckets = make([]BreakerCounts, buckets)
	b.renew(0)
	return b
}

// Begin asks for a request to pass. It may if the state returned is closed; open
// and half open say why not. What passes is told Done once.
func (b *Breaker) Begin(now time.Duration) (BreakerTicket, BreakerState) {
	b.advance(now)
	switch {
	case b.state == BreakerOpen:
		return BreakerTicket{}, BreakerOpen
	case b.state == BreakerHalfOpen && b.counts.valid() >= b.settings.MaxRequests:
		return BreakerTicket{}, BreakerHalfOpen
	}
	b.counts.begin()
	return BreakerTicket{b.generation, b.counts.age}, BreakerClosed
}

// Done says how a request that passed with t ended.
func (b *Breaker) Done(now time.Duration, t BreakerTicket, v BreakerVerdict) {
	b.advance(now)
	if t.Generation != b.generation {
		return
	}
	switch {
	case v == Broke && b.state == BreakerHalfOpen:
		b.become(BreakerOpen)
	case v == Broke:
		b.counts.count(t.Age, v)
		if b.settings.Trips(b.counts.BreakerCounts) {
			b.become(BreakerOpen)
		}
	default:
		b.counts.count(t.Age, v)
		if v == Succeeded && b.state == BreakerHalfOpen && b.counts.ConsecutiveSuccesses >= b.settings.MaxRequests {
			b.become(BreakerClosed)
		}
	}
}

// State returns the state at now.
func (b *Breaker) State(now time.Duration) BreakerState {
	b.advance(now)
	return b.state
}

// Counts returns what was counted by the last call.
func (b *Breaker) Counts() BreakerCounts { return b.counts.BreakerCounts }

// advance brings the state to now.
func (b *Breaker) advance(now time.Duration) {
	b.last = max(b.last, now)
	switch {
	case b.state == BreakerClosed && b.expiry < b.last:
		b.renew(b.last)
	case b.state == BreakerClosed && len(b.counts.buckets) > 1:
		b.counts.grow(uint64((b.last - b.start) / b.period))
	case b.state == BreakerOpen && b.expiry < b.last:
		b.become(BreakerHalfOpen)
	}
}

func (b *Breaker) become(s BreakerState) {
	b.state = s
	b.renew(b.last)
}

// renew begins a generation.
func (b *Breaker) renew(now time.Duration) {
	b.generation++
	b.start, b.expiry = now, never
	b.counts.clear()
	switch {
	case b.state == BreakerOpen:
		b.expiry = now + b.settings.Timeout
	case b.state == BreakerClosed && b.settings.Interval > 0 && len(b.counts.buckets) == 1:
		b.expiry = now + b.settings.Interval
	}
}
