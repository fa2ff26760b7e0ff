package server

import "time"

// standStill does the next thing, until now, in a process that is paused or that
// goes on after a pause, and reports whether there may be more to do. Nothing
// happens during a pause but the faults that end it. When it is over, what was
// due meanwhile comes first, all at once, and then those who came.
func (c *Core) standStill(now time.Duration, wakes bool) (more bool) {
	if c.conditions.Paused {
		if c.faultNext < now || c.faultNext == now && wakes {
			c.wake(c.faultNext)
			return true
		}
		c.now = now
		return false
	}
	if c.now == now && !wakes {
		return false
	}
	switch {
	case c.endingNext <= c.now:
		c.end(c.now)
	case c.nextWake() <= c.now:
		c.wake(c.now)
	default:
		c.halted = false
		c.letIn()
	}
	return true
}
