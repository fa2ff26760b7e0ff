package server

import (
	"time"

	"knee/target/protection"
)

// expiries are the waiting requests that expire. Those that come in the order in
// which they expire, which is nearly all when patience is alike, stand in a list
// (Links.Sooner, .Later); the others in a heap, where each knows its place
// (Links.Heap). So one that is served leaves at once.
type expiries struct {
	sooner, later *protection.Request // ends of the list
	heap          []expiry
}

type expiry struct {
	at time.Duration
	r  *protection.Request
}

// inList marks in Links.Heap a request that stands in the list.
const inList = -1

// next returns the instant at which the first request expires; Never when none does.
func (e *expiries) next() time.Duration {
	next := protection.Never
	if e.sooner != nil {
		next = e.sooner.Expires
	}
	if len(e.heap) > 0 {
		next = min(next, e.heap[0].at)
	}
	return next
}

// first returns the request that expires first; there must be one.
func (e *expiries) first() *protection.Request {
	if e.sooner == nil || len(e.heap) > 0 && e.heap[0].at < e.sooner.Expires {
		return e.heap[0].r
	}
	return e.sooner
}

func (e *expiries) add(r *protection.Request) {
	switch {
	case r.Expires == protection.Never:
	case e.later == nil:
		e.sooner, e.later = r, r
		r.Links.Heap = inList
	case r.Expires >= e.later.Expires:
		r.Links.Sooner, e.later.Links.Later, e.later = e.later, r, r
		r.Links.Heap = inList
	default:
		e.heap = append(e.heap, expiry{})
		e.up(len(e.heap)-1, expiry{r.Expires, r})
	}
}

// remove takes r out, if it is in.
func (e *expiries) remove(r *protection.Request) {
	switch i := r.Links.Heap; {
	case i > 0:
		e.removeAt(i - 1)
	case i == inList:
		e.unlist(r)
	}
	r.Links.Heap = 0
}

func (e *expiries) unlist(r *protection.Request) {
	sooner, later := r.Links.Sooner, r.Links.Later
	if sooner != nil {
		sooner.Links.Later = later
	} else {
		e.sooner = later
	}
	if later != nil {
		later.Links.Sooner = sooner
	} else {
		e.later = sooner
	}
	r.Links.Sooner, r.Links.Later = nil, nil
}

// removeAt takes place i out of the heap.
func (e *expiries) removeAt(i int) {
	last := len(e.heap) - 1
	x := e.heap[last]
	e.heap[last] = expiry{}
	e.heap = e.heap[:last]
	switch {
	case i == last:
	case i > 0 && x.at < e.heap[(i-1)/heapWidth].at:
		e.up(i, x)
	default:
		e.down(i, x)
	}
}

// heapWidth is the number of children of a node: four make the heap half as
// deep as two, and lie in one cache line.
const heapWidth = 4

// up puts x at i or above.
func (e *expiries) up(i int, x expiry) {
	for i > 0 {
		parent := (i - 1) / heapWidth
		if e.heap[parent].at <= x.at {
			break
		}
		e.set(i, e.heap[parent])
		i = parent
	}
	e.set(i, x)
}

// down puts x at i or below.
func (e *expiries) down(i int, x expiry) {
	for {
		first := heapWidth*i + 1
		if first >= len(e.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+heapWidth, len(e.heap)); c++ {
			if e.heap[c].at < e.heap[least].at {
				least = c
			}
		}
		if e.heap[least].at >= x.at {
			break
		}
		e.set(i, e.heap[least])
		i = least
	}
	e.set(i, x)
}

func (e *expiries) set(i int, x expiry) {
	e.heap[i] = x
	x.r.Links.Heap = i + 1
}
