package server

import (
	"time"

	"knee/target/protection"
)

// expiries is a heap of the waiting requests that expire, soonest first. Each
// knows its place (Links.Heap), so that one that is served leaves at once.
type expiries struct{ heap []expiry }

type expiry struct {
	at time.Duration
	r  *protection.Request
}

// next returns the instant at which the first request expires; Never when none does.
func (e *expiries) next() time.Duration {
	if len(e.heap) == 0 {
		return protection.Never
	}
	return e.heap[0].at
}

func (e *expiries) first() *protection.Request { return e.heap[0].r }

func (e *expiries) add(r *protection.Request) {
	if r.Expires == protection.Never {
		return
	}
	e.heap = append(e.heap, expiry{})
	e.up(len(e.heap)-1, expiry{r.Expires, r})
}

// remove takes r out, if it is in.
func (e *expiries) remove(r *protection.Request) {
	i := r.Links.Heap - 1
	if i < 0 {
		return
	}
	r.Links.Heap = 0
	last := len(e.heap) - 1
	x := e.heap[last]
	e.heap[last] = expiry{}
	e.heap = e.heap[:last]
	if i == last {
		return
	}
	if i > 0 && x.at < e.heap[(i-1)/heapWidth].at {
		e.up(i, x)
	} else {
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
