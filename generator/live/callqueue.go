package live

// A callQueue holds calls that wait for a connection, the longest first.
type callQueue struct {
	first, last *call
	length      int
}

// push puts c at the end.
func (q *callQueue) push(c *call) {
	c.before, c.after = q.last, nil
	if q.last == nil {
		q.first = c
	} else {
		q.last.after = c
	}
	q.last = c
	q.length++
}

// remove takes c out, wherever it stands.
func (q *callQueue) remove(c *call) {
	if c.before == nil {
		q.first = c.after
	} else {
		c.before.after = c.after
	}
	if c.after == nil {
		q.last = c.before
	} else {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
	q.length--
}

// pop takes out the call that has waited longest; nil when none waits.
func (q *callQueue) pop() *call {
	c := q.first
	if c != nil {
		q.remove(c)
	}
	return c
}
