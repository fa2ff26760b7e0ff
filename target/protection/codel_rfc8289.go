package protection

import (
	"math"
	"time"
)

// codel is CoDel of RFC 8289, section 5, for requests instead of packets. A
// sojourn of exactly target is above it. One request left behind takes the place
// of one MTU: none is dropped unless at least two others wait, and that is looked
// at after it has left the queue, as in the code of the RFC. What the RFC drops in
// an inner loop, the core does by asking about one request after the other.
//
// As linux it is include/net/codel_impl.h: dropping begins after more than an
// interval, not after one, and the count rises with a drop instead of after it.
// The kernel approximates the square root; this one is exact.
//
// After n drops they come at interval/√n, which makes senders slow down that do.
// Callers do not: against a surplus of x a second the queue grows to about
// x²·interval² before drops have caught up.
type codel struct {
	target, interval time.Duration
	linux            bool

	last       time.Duration // latest instant seen
	firstAbove time.Duration // when the queue will have been above target for an interval; 0: it is below
	dropping   bool
	dropNext   time.Duration
	count      int  // drops since dropping began, less when it began anew soon after
	lastCount  int  // count when dropping last began
	scheduled  bool // the last one was dropped on schedule, and another may be due
}

func (*codel) Admit(time.Duration, *Request, Load) Reason { return "" }

func (*codel) Leave(time.Duration, *Request, End) {}

func (c *codel) Pick(now time.Duration, r *Request, l Load) Reason {
	c.last = max(c.last, now)
	again := c.scheduled
	c.scheduled = false
	if !c.above(standing(c.last, r, &l), l.Waiting) {
		c.dropping = false
		return ""
	}
	if again {
		if !c.linux {
			c.count++
		}
		c.dropNext += c.spacing()
	}
	if r.Protected || c.dropping && c.last < c.dropNext {
		return ""
	}
	if !c.dropping {
		c.enter()
		return ReasonCodel
	}
	if c.linux {
		c.count++
	}
	c.scheduled = true
	return ReasonCodel
}

// above reports whether the queue has been above target for an interval, now
// that its sojourn is this and so many wait in it.
func (c *codel) above(sojourn time.Duration, left int) bool {
	switch {
	case sojourn < c.target || left <= 1:
		c.firstAbove = 0
		return false
	case c.firstAbove == 0:
		c.firstAbove = c.last + c.interval
		return false
	case c.linux:
		return c.last > c.firstAbove
	}
	return c.last >= c.firstAbove
}

// enter begins to drop: at the pace at which it stopped, if that is not long ago.
func (c *codel) enter() {
	dropped := c.count - c.lastCount
	c.count = 1
	if dropped > 1 && c.last-c.dropNext < 16*c.interval {
		c.count = dropped
	}
	c.lastCount = c.count
	c.dropping = true
	c.dropNext = c.last + c.spacing()
}

// spacing returns the time from one drop to the next.
func (c *codel) spacing() time.Duration {
	return time.Duration(float64(c.interval) / math.Sqrt(float64(c.count)))
}
