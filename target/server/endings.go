package server

import (
	"math/bits"
	"time"

	"knee/target/protection"
)

// endings are the work in progress that the core itself ends, first to end
// first, in the order of start among equals.
//
// The next few to end stand sorted in a short line, where both ends of a request's
// work cost a handful of instructions; those that end later, which only a
// server of many workers has, in a heap.
type endings struct {
	near   [nearest]ending // the first n are in use, last to end first
	n      int             // 0 only when the heap is empty too
	heap   []ending        // none ends before one of near
	starts uint64
}

// nearest is how many endings stand in line: about as many as are quicker to
// shift than to sift.
const nearest = 16

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

// empty reports whether no work is in progress.
func (h *endings) empty() bool { return h.n == 0 }

// first returns the reading of the work clock at which the first work is done;
// there must be one.
func (h *endings) first() time.Duration { return h.near[h.n-1].done }

// add takes in work that starts now. Of equal ends it is the last.
func (h *endings) add(done time.Duration, r *protection.Request) {
	start := h.starts
	h.starts++
	if h.n == nearest || len(h.heap) > 0 {
		if h.near[0].done <= done {
			h.push(ending{done, start, r})
			return
		}
		if h.n == nearest {
			h.push(h.near[0])
			h.n = copy(h.near[:], h.near[1:])
		}
	}
	i := h.n
	for ; i > 0 && h.near[i-1].done <= done; i-- {
		h.near[i] = h.near[i-1]
	}
	x := &h.near[i]
	x.done, x.start, x.r = done, start, r
	h.n++
}

// pop takes out the work that ends first; there must be some.
func (h *endings) pop() ending {
	h.n--
	top := h.near[h.n]
	h.near[h.n].r = nil
	if h.n == 0 && len(h.heap) > 0 {
		h.refill()
	}
	return top
}

// refill moves what ends next from the heap into the empty line.
func (h *endings) refill() {
	h.n = min(nearest, len(h.heap))
	for i := h.n - 1; i >= 0; i-- {
		h.near[i] = h.pull()
	}
}

// push puts x into the heap.
func (h *endings) push(x ending) {
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

// pull takes what ends first out of the heap.
func (h *endings) pull() ending {
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
