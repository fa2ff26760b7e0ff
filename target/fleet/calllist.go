package fleet

// A callList is a list of calls, oldest first. Its calls are linked by the link
// that place returns.
type callList struct {
	first, last *call
	place       func(*call) *link
}

// A link holds the neighbours of a call in one list.
type link struct{ prev, next *call }

func linkOpen(c *call) *link   { return &c.open }
func linkHanded(c *call) *link { return &c.handed }

func (l *callList) add(c *call) {
	at := l.place(c)
	if at.prev = l.last; at.prev != nil {
		l.place(at.prev).next = c
	} else {
		l.first = c
	}
	l.last = c
}

// remove takes c, which is in the list, out of it.
func (l *callList) remove(c *call) {
	at := l.place(c)
	if at.prev != nil {
		l.place(at.prev).next = at.next
	} else {
		l.first = at.next
	}
	if at.next != nil {
		l.place(at.next).prev = at.prev
	} else {
		l.last = at.prev
	}
	*at = link{}
}
