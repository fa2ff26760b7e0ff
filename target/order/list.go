package order

import "knee/target/protection"

// list is a doubly linked list of waiting requests through Links.Prev and .Next.
type list struct {
	first, last *protection.Request
	n           int
}

func (l *list) pushBack(r *protection.Request) {
	r.Links.Prev, r.Links.Next = l.last, nil
	if l.last != nil {
		l.last.Links.Next = r
	} else {
		l.first = r
	}
	l.last = r
	l.n++
}

// Remove takes r, which is in the list, out of it.
func (l *list) Remove(r *protection.Request) {
	if r.Links.Prev != nil {
		r.Links.Prev.Links.Next = r.Links.Next
	} else {
		l.first = r.Links.Next
	}
	if r.Links.Next != nil {
		r.Links.Next.Links.Prev = r.Links.Prev
	} else {
		l.last = r.Links.Prev
	}
	r.Links.Prev, r.Links.Next = nil, nil
	l.n--
}

// Len returns the number of requests in the list.
func (l *list) Len() int { return l.n }
