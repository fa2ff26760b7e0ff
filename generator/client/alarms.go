package client

import "time"

// An alarm is the place of an attempt in its caller's heap.
type alarm struct {
	at    time.Duration
	sends bool   // it has something sent; at one instant that comes last
	seq   uint64 // among those of one instant: the order in which they were set
	index int    // in the heap, plus one; 0 when it is not set
}

// alarms is a heap of the attempts that wait for an instant.
type alarms struct {
	heap []*Attempt
	seq  uint64
}

// next returns the instant of the first alarm; Never when none is set.
func (h *alarms) next() time.Duration {
	if len(h.heap) == 0 {
		return never
	}
	return h.heap[0].state.alarm.at
}

// set gives a an alarm at an instant, in place of the one that it has.
func (h *alarms) set(a *Attempt, at time.Duration, sends bool) {
	h.seq++
	l := &a.state.alarm
	l.at, l.sends, l.seq = at, sends, h.seq
	if l.index == 0 {
		h.heap = append(h.heap, a)
		l.index = len(h.heap)
	}
	h.fix(l.index - 1)
}

// stop takes the alarm of a away, if it has one.
func (h *alarms) stop(a *Attempt) {
	i := a.state.alarm.index - 1
	if i < 0 {
		return
	}
	a.state.alarm.index = 0
	last := len(h.heap) - 1
	moved := h.heap[last]
	h.heap[last] = nil
	h.heap = h.heap[:last]
	if i < last {
		h.heap[i] = moved
		moved.state.alarm.index = i + 1
		h.fix(i)
	}
}

// fix moves the attempt at i, which may be in the wrong place, to the right one.
func (h *alarms) fix(i int) {
	for i > 0 && h.before(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.heap); child++ {
			if h.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h *alarms) before(i, j int) bool {
	a, b := &h.heap[i].state.alarm, &h.heap[j].state.alarm
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.sends != b.sends:
		return b.sends
	}
	return a.seq < b.seq
}

func (h *alarms) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].state.alarm.index, h.heap[j].state.alarm.index = i+1, j+1
}
