package recovery_test

import (
	"math"
	"math/rand/v2"
	"time"

	"knee/analysis/recovery"
)

// fluid is a first in, first out server in steps of 10 ms, to whose queue the
// closed forms of the specification apply. Late work is still served.
type fluid struct {
	mu       float64 // requests per second
	deadline float64 // s
	base     float64 // load before and after the spike, requests per second
	peak     float64
	before   float64 // s of base load
	spike    float64 // s
	after    float64 // s
	bound    float64 // requests; 0: none
	retries  int     // after a timeout at the deadline, at once
	budget   float64 // share of originals that may be retries; 0: any
	drop     bool    // work whose deadline has passed is dropped free of charge
	stall    bool    // instead of the peak, nothing is served during the spike
	noise    *rand.Rand
}

// batch is the work that arrived in one step.
type batch struct {
	at       int // step of arrival
	planned  int // step of arrival of the originals
	attempt  int
	size     float64
	left     float64
	timedOut bool
}

const step = 0.01

// run returns the windows, and the start and end of the spike.
func (f fluid) run() (windows []recovery.Window, start, end time.Duration) {
	total := int((f.before + f.spike + f.after) / step)
	sent, good := make([]float64, total), make([]float64, total)
	late := make([]float64, total)
	inFlight := make([]float64, total)
	var queue []*batch
	waiting := 0.0
	tokens := 0.0
	for i := range total {
		t := float64(i) * step
		spiking := t >= f.before-1e-9 && t < f.before+f.spike-1e-9
		rate, mu := f.base, f.mu
		switch {
		case spiking && f.stall:
			mu = 0
		case spiking:
			rate = f.peak
		}
		n := rate * step
		if f.noise != nil {
			n = poisson(f.noise, n)
		}
		sent[i] = n
		tokens += n * f.budget
		arrivals := []*batch{{at: i, planned: i, size: n, left: n}}
		for _, b := range queue {
			if b.timedOut || float64(i-b.at)*step < f.deadline {
				continue
			}
			b.timedOut = true
			if b.attempt >= f.retries {
				continue
			}
			again := b.left
			if f.budget > 0 {
				again = min(again, tokens)
				tokens -= again
			}
			arrivals = append(arrivals, &batch{at: i, planned: b.planned, attempt: b.attempt + 1, size: again, left: again})
		}
		for _, b := range arrivals {
			if f.bound > 0 {
				b.left = max(0, min(b.left, f.bound-waiting))
			}
			waiting += b.left
			queue = append(queue, b)
		}
		room := mu * step
		for len(queue) > 0 && room > 0 {
			b := queue[0]
			inTime := float64(i-b.at)*step < f.deadline
			if !inTime && f.drop {
				waiting -= b.left
				queue = queue[1:]
				continue
			}
			n := min(room, b.left)
			b.left, room, waiting = b.left-n, room-n, waiting-n
			if inTime {
				good[b.planned] += n
			} else if n > 0 {
				late[b.planned] = float64(i-b.planned) * step
			}
			if b.left > 1e-12 {
				break
			}
			queue = queue[1:]
		}
		inFlight[i] = waiting
	}
	const per = 20 // steps in a window of 200 ms
	for i := 0; i+per <= total; i += per {
		w := recovery.Window{At: time.Duration(float64(i)*step*1000+0.5) * time.Millisecond, InFlight: inFlight[i+per-1]}
		s, g := 0.0, 0.0
		for j := i; j < i+per; j++ {
			s, g = s+sent[j], g+good[j]
		}
		w.Sent, w.Good = uint64(s+0.5), uint64(min(s, g)+0.5)
		if l := late[i+per/2]; l > 0 {
			w.Late = time.Duration(l * float64(time.Second))
		}
		windows = append(windows, w)
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return windows, seconds(f.before), seconds(f.before + f.spike)
}

// poisson is normal when it is large.
func poisson(r *rand.Rand, mean float64) float64 {
	if mean > 50 {
		return max(0, math.Round(mean+r.NormFloat64()*math.Sqrt(mean)))
	}
	n, p := 0.0, r.Float64()
	for ; p > math.Exp(-mean); n++ {
		p *= r.Float64()
	}
	return n
}
