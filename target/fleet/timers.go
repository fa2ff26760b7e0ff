package fleet

import (
	"time"

	"knee/target/protection"
)

// A timer calls do at an instant, unless it is stopped before.
type timer struct {
	at    time.Duration
	do    func()
	seq   uint64 // of two at one instant, the one set first comes first
	place int    // in the heap, plus one; 0 when it is not set
}

// timers are the timers that are set, as a binary heap.
type timers struct {
	heap []*timer
	seq  uint64
}

// next returns the instant of the first timer; Never when none is set.
func (t *timers) next() time.Duration {
	if len(t.heap) == 0 {
		return protection.Never
	}
	return t.heap[0].at
}

// fire takes out the first timer and does what it is set for. There must be one.
func (t *timers) fire() {
	first := t.heap[0]
	t.stop(first)
	first.do()
}

// set has x come at an instant, in place of the one it was set to. Never stops it.
func (t *timers) set(x *timer, at time.Duration) {
	t.stop(x)
	if at == protection.Never {
		return
	}
	t.seq++
	x.at, x.seq = at, t.seq
	t.heap = append(t.heap, x)
	t.up(len(t.heap)-1, x)
}

// stop takes x out, if it is set.
func (t *timers) stop(x *timer) {
	if x.place == 0 {
		return
	}
	i, last := x.place-1, len(t.heap)-1
	moved := t.heap[last]
	t.heap[last] = nil
	t.heap = t.heap[:last]
	x.place = 0
	if i == last {
		return
	}
	if i > 0 && moved.before(t.heap[(i-1)/2]) {
		t.up(i, moved)
		return
	}
	t.down(i, moved)
}

// up puts x at i or above.
func (t *timers) up(i int, x *timer) {
	for i > 0 && x.before(t.heap[(i-1)/2]) {
		t.put(i, t.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	t.put(i, x)
}

// down puts x at i or below.
func (t *timers) down(i int, x *timer) {
	for {
		least := 2*i + 1
		if least >= len(t.heap) {
			break
		}
		if least+1 < len(t.heap) && t.heap[least+1].before(t.heap[least]) {
			least++
		}
		if x.before(t.heap[least]) {
			break
		}
		t.put(i, t.heap[least])
		i = least
	}
	t.put(i, x)
}

func (t *timers) put(i int, x *timer) {
	t.heap[i] = x
	x.place = i + 1
}

func (x *timer) before(y *timer) bool {
	return x.at < y.at || x.at == y.at && x.seq < y.seq
}
