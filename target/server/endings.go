package server

import (
	"math/bits"
	"time"

	"knee/target/protection"
)

// endings is a heap of the work in progress that the core itself ends, first to
// end first, in the order of start among equals.
type endings struct {
	heap   []ending
	starts uint64
}

type ending struct {
	done  time.Duration       // by the clock of pace: work done when it ends
	start uint64              // how many began before
	r     *protection.Request // nil: a worker pays debt
}

// before returns 1 if a ends before b, else 0. It is a subtraction of 128 bits
// and no branch: the order of random ends cannot be predicted.
func (a *ending) before(b *ending) int {
	_, borrow := bits.Sub64(a.start, b.start, 0)
	_, borrow = bits.Sub64(uint64(a.done), uint64(b.done), borrow)
	return int(borrow)
}

func (h *endings) add(done time.Duration, r *protection.Request) {
	x := ending{done: done, start: h.starts, r: r}
	h.starts++
	h.heap = append(h.heap, x)
	i := len(h.heap) - 1
	for i > 0 {
		parent := (i - 1) / heapWidth
		if h.heap[parent].before(&x) == 1 {
			break
		}
		h.heap[i] = h.heap[parent]
		i = parent
	}
	h.heap[i] = x
}

func (h *endings) pop() ending {
	top := h.heap[0]
	last := len(h.heap) - 1
	x := h.heap[last]
	h.heap[last] = ending{}
	h.heap = h.heap[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		first := heapWidth*i + 1
		if first >= last {
			break
		}
		least := first
		for c := first + 1; c < min(first+heapWidth, last); c++ {
			least += (c - least) * h.heap[c].before(&h.heap[least])
		}
		if x.before(&h.heap[least]) == 1 {
			break
		}
		h.heap[i] = h.heap[least]
		i = least
	}
	h.heap[i] = x
	return top
}
