package client

import "time"

// ratioBudget allows further attempts up to a share of the first ones, both
// counted over a window: "Site Reliability Engineering" (2016), chapter 21, with
// a tenth for each client. With three attempts for each original the load of a
// server that fails altogether grows to 1.1 times and not to three times.
type ratioBudget struct {
	ratio           float64
	requests, extra slots
}

func newRatioBudget(ratio float64, window time.Duration) *ratioBudget {
	return &ratioBudget{ratio, newSlots(window, budgetSlots), newSlots(window, budgetSlots)}
}

// budgetSlots is how finely windows of budgets slide.
const budgetSlots = 10

func (b *ratioBudget) first(now time.Duration) { b.requests.add(now, 1) }

func (b *ratioBudget) plan(now time.Duration) bool {
	if float64(b.extra.sum(now)+1) > b.ratio*float64(b.requests.sum(now))+rounding {
		return false
	}
	b.extra.add(now, 1)
	return true
}

// rounding keeps a tenth of ten from being less than one.
const rounding = 1e-9

func (*ratioBudget) begin(time.Duration, bool, bool) bool { return true }
func (*ratioBudget) end(time.Duration, course, Result)    {}
