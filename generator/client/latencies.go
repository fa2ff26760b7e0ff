package client

import (
	"slices"
	"time"
)

// latencies knows a quantile of the latest durations that it was told.
type latencies struct {
	share  float64
	ring   []time.Duration // the latest, up to its capacity
	oldest int             // place of the oldest in ring once that is full
	sorted []time.Duration
	fresh  int // told since value was found
	value  time.Duration
}

const (
	latenciesKept  = 1000
	latenciesFresh = 50 // after how many new ones the quantile is found anew, and how many have to be known
)

func newLatencies(share float64) *latencies {
	return &latencies{
		share:  share,
		ring:   make([]time.Duration, 0, latenciesKept),
		sorted: make([]time.Duration, 0, latenciesKept),
	}
}

func (l *latencies) add(d time.Duration) {
	if len(l.ring) < latenciesKept {
		l.ring = append(l.ring, d)
	} else {
		l.ring[l.oldest] = d
		l.oldest = (l.oldest + 1) % latenciesKept
	}
	l.fresh++
	if l.fresh < latenciesFresh {
		return
	}
	l.fresh = 0
	l.sorted = append(l.sorted[:0], l.ring...)
	slices.Sort(l.sorted)
	l.value = l.sorted[int(l.share*float64(len(l.sorted)))]
}

// quantile returns the duration below which the share is, false while too few are
// known.
func (l *latencies) quantile() (time.Duration, bool) {
	return l.value, len(l.ring) >= latenciesFresh
}
