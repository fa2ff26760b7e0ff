package protection

import "time"

// maurerCodel is the controlled delay of Maurer, "Fail at Scale" (ACM Queue
// 13(8), 2015): a request may wait for the interval, but only for the target when
// it finds a queue that has not been empty for more than an interval. What a
// queue that is empty does not have is an age, so an idle server counts as empty
// until now: the rule as printed there sets the instant when the queue becomes
// empty only, and would hold the first request after a rest for an overload.
//
// A request that has waited for its time exactly is dropped, and the server takes
// it out at that instant unless the order keeps it. At the switch, those who came
// with the long time still wait: the queue can be an interval long for an interval.
type maurerCodel struct{ short, long time.Duration }

func (c *maurerCodel) Admit(now time.Duration, r *Request, l Load) Reason {
	if r.Protected {
		return ""
	}
	timeout := c.long
	if l.LastEmpty < now-c.long {
		timeout = c.short
	}
	r.ExpireAt(now+timeout, ReasonCodel)
	return ""
}

func (*maurerCodel) Leave(time.Duration, *Request, End) {}
