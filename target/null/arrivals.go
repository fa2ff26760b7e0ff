package null

import "time"

// arrivals counts requests and keeps the instants of the first of them.
type arrivals struct {
	count uint64
	at    []int64 // never grows beyond its capacity
	start time.Time
	base  int64 // the instant of start
}

func newArrivals(most int, now time.Time) arrivals {
	return arrivals{at: make([]int64, 0, most), start: now, base: monotonic() - int64(time.Since(now))}
}

// add counts n requests that were read just now.
func (a *arrivals) add(n int) {
	a.count += uint64(n)
	if n = min(n, cap(a.at)-len(a.at)); n == 0 {
		return
	}
	now := a.base + int64(time.Since(a.start))
	for range n {
		a.at = append(a.at, now)
	}
}
