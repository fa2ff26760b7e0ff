package client

// heldList is a queue of attempts that a Holder holds. They are linked by what
// other attempts use for their waits.
type heldList struct {
	head, tail *Attempt
	n          int
}

func (l *heldList) push(a *Attempt) {
	a.state.prev, a.state.next = l.tail, nil
	if l.tail != nil {
		l.tail.state.next = a
	} else {
		l.head = a
	}
	l.tail = a
	l.n++
}

func (l *heldList) remove(a *Attempt) {
	s := &a.state
	if s.prev != nil {
		s.prev.state.next = s.next
	} else {
		l.head = s.next
	}
	if s.next != nil {
		s.next.state.prev = s.prev
	} else {
		l.tail = s.prev
	}
	s.prev, s.next = nil, nil
	l.n--
}

// pop takes the attempt out that has been there longest; nil when there is none.
func (l *heldList) pop() *Attempt {
	a := l.head
	if a != nil {
		l.remove(a)
	}
	return a
}
