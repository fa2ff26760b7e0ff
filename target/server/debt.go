package server

import "time"

// debtSpan is how long all workers together would take to pay the most that may be owed.
const debtSpan = 100 * time.Millisecond

// debt is work that rejections have cost and no worker has paid yet.
type debt struct {
	each time.Duration // work that one rejection costs
	most time.Duration
	owed time.Duration
}

// newDebt returns the debt of a server without rejections so far, each of which
// costs a share of the mean work.
func newDebt(s Spec, cost float64) debt {
	return debt{
		each: time.Duration(cost * float64(s.Service)),
		most: later(0, time.Duration(min(float64(s.Workers)*float64(debtSpan), float64(1<<62)))),
	}
}

// add takes on the cost of one rejection, as far as the cap allows.
func (d *debt) add() { d.owed = min(d.owed+d.each, d.most) }

// take hands one worker its share of what is owed, so that those which come free
// together pay together; at least the cost of one rejection.
func (d *debt) take(workers int) time.Duration {
	share := max(d.owed/time.Duration(workers), d.each, 1) // each is 0 when the fault that cost is over
	share = min(share, d.owed)
	d.owed -= share
	return share
}
