package live

import "time"

// An h2Stream is one request on its way: waiting for a stream of a connection,
// for its turn to be written, or for its answer.
type h2Stream struct {
	call    *call // nil: not in use
	request *h2Request
	conn    *h2Conn // nil while it waits for one
	list    *h2List // the one it is in
	prev    *h2Stream
	next    *h2Stream // also after a free one

	queued  time.Duration // instant from which it waits
	expires time.Duration // when nobody waits for its answer any more
	limited bool          // it had to wait because every connection allowed was full

	id     uint32        // 0 until it is written
	began  time.Duration // when it was written
	rested bool          // the connection had carried others and was idle
	rest   []byte        // of the body, still to be sent
	window int64         // bytes of it that the server takes

	status  int // 0 until the head is there
	interim int // interim answers so far
	fields  h2Fields
	length  int64  // of the body, as declared; -1 when it is not
	got     int64  // of the body
	start   []byte // of the body, as far as the judge looks
	unread  int64  // bytes received since the server was last given room
}

// An h2List is a queue of streams, each of which is in one list at most.
type h2List struct {
	first, last *h2Stream
	n           int
}

// push appends s.
func (l *h2List) push(s *h2Stream) {
	s.list, s.prev, s.next = l, l.last, nil
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
	l.n++
}

// unshift puts s before all others.
func (l *h2List) unshift(s *h2Stream) {
	s.list, s.prev, s.next = l, nil, l.first
	if l.first == nil {
		l.last = s
	} else {
		l.first.prev = s
	}
	l.first = s
	l.n++
}

// remove takes s out of the list it is in, if it is in one.
func (s *h2Stream) remove() {
	l := s.list
	if l == nil {
		return
	}
	if s.prev == nil {
		l.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	l.n--
	s.list, s.prev, s.next = nil, nil, nil
}
