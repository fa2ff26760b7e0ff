package protection

import "time"

// follyCodel is the rule of folly/executors/Codel.cpp, as in wangle: when the
// shortest sojourn of an interval was above target, all that have waited more
// than twice the target are dropped during the next. It drops in proportion to
// the surplus, so it holds against callers that do not slow down.
//
// As there, an interval ends with the first request after its time, and that
// request is never dropped. So an interval may hold one request only, and one that
// has waited, the first of a run among them, is enough to declare an overload:
// that is no evidence of a standing queue, but it costs only those who wait twice
// the target in the next interval.
//
// The shortest sojourn is taken of the oldest that waits, see standing; which
// request is dropped goes by its own.
type follyCodel struct {
	target, interval time.Duration

	last       time.Duration // latest instant seen
	ends       time.Duration // of the present interval
	first      bool          // the next request is the first of an interval
	least      time.Duration // shortest sojourn of the present interval
	overloaded bool          // the last interval had none below target
}

func (*follyCodel) Admit(time.Duration, *Request, Load) Reason { return "" }

func (*follyCodel) Leave(time.Duration, *Request, End) {}

func (c *follyCodel) Pick(now time.Duration, r *Request, l Load) Reason {
	c.last = max(c.last, now)
	sojourn := standing(c.last, r, &l)
	if c.last > c.ends && !c.first {
		c.overloaded = c.least > c.target
		c.ends = c.last + c.interval
		c.first = true
	}
	if c.first {
		c.first = false
		c.least = sojourn
		return ""
	}
	c.least = min(c.least, sojourn)
	if c.overloaded && c.last-r.Arrived > 2*c.target && !r.Protected {
		return ReasonCodel
	}
	return ""
}
