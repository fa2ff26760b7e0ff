package search_test

import (
	"math"
	"math/rand/v2"
	"time"

	"knee/analysis/stat"
	"knee/generator/search"
)

// server is a synthetic server: what becomes of a trial.
type server interface {
	run(t search.Trial, r *rand.Rand) search.Observation
}

// curve is a server without memory: goodput as a function of the load, with the
// noise of a shared machine (section 2.7 of the analysis): capacity wanders by
// jitter from trial to trial and falls to half during bursts.
type curve struct {
	goodput func(load, scale float64) float64 // scale is the share of the capacity that is there
	jitter  float64
	bursts  float64 // chance per trial that a burst begins; it lasts 2.5 trials
	burst   bool
	ceiling float64 // most that the generator can offer; 0: anything
}

func (c *curve) run(t search.Trial, r *rand.Rand) search.Observation {
	if c.burst {
		c.burst = r.Float64() < 0.6
	} else {
		c.burst = r.Float64() < c.bursts
	}
	scale := 1 - math.Abs(r.NormFloat64())*c.jitter
	if c.burst {
		scale *= 0.5 + 0.4*r.Float64()
	}
	load := t.Rate
	if c.ceiling > 0 {
		load = min(load, c.ceiling)
	}
	// The server sees the arrivals that came, not their mean, and its own work
	// scatters as much.
	seconds := t.Measure.Seconds()
	sent := poisson(r, load*seconds)
	if load = float64(sent) / seconds; load == 0 {
		return observe(t, 0, 0)
	}
	mean := c.goodput(load, scale) * seconds
	if mean < 0.98*float64(sent) {
		mean = c.goodput(load, scale*(1+r.NormFloat64()/math.Sqrt(float64(sent)))) * seconds
	}
	good := uint64(math.Round(max(0, min(float64(sent), mean))))
	o := observe(t, sent, good)
	o.Limited = c.ceiling > 0 && t.Rate > 1.02*c.ceiling
	return o
}

func observe(t search.Trial, sent, good uint64) search.Observation {
	s := t.Measure.Seconds()
	return search.Observation{Offered: float64(sent) / s, Goodput: float64(good) / s, Sent: sent, Good: good}
}

func hinge(capacity float64) func(load, scale float64) float64 {
	return func(load, scale float64) float64 { return min(load, capacity*scale) }
}

func costly(capacity, q float64) func(load, scale float64) float64 {
	return func(load, scale float64) float64 {
		mu := capacity * scale
		if load <= mu {
			return load
		}
		return max(0, (mu-q*load)/(1-q))
	}
}

func deadline(capacity, d float64) func(load, scale float64) float64 {
	return func(load, scale float64) float64 {
		if mu := capacity * scale; load < mu {
			return load * (1 - math.Exp(-(mu-load)*d))
		}
		return 0
	}
}

func cliff(capacity float64) func(load, scale float64) float64 {
	return func(load, scale float64) float64 {
		if load <= capacity*scale {
			return load
		}
		return 0
	}
}

// bucket admits rate per second and a burst, like nginx's limit_req.
type bucket struct{ rate, burst float64 }

func (b *bucket) run(t search.Trial, r *rand.Rand) search.Observation {
	tokens := b.burst // refilled between trials
	now, end := 0.0, (t.Settle + t.Measure).Seconds()
	var sent, good uint64
	for {
		gap := r.ExpFloat64() / t.Rate
		if now += gap; now >= end {
			break
		}
		tokens = min(b.burst, tokens+gap*b.rate)
		ok := tokens >= 1
		if ok {
			tokens--
		}
		if now >= t.Settle.Seconds() {
			sent++
			if ok {
				good++
			}
		}
	}
	return observe(t, sent, good)
}

// fifo is an unbounded queue before some workers: nothing is refused, and what
// waits too long is late. It is drained before the next trial starts, which
// takes as long as it takes.
type fifo struct {
	workers  int
	service  float64 // mean, in seconds
	timeout  float64
	constant bool
}

func (f *fifo) run(t search.Trial, r *rand.Rand) search.Observation {
	free := make([]float64, f.workers)
	now, end := 0.0, (t.Settle + t.Measure).Seconds()
	var sent, good uint64
	var done []float64
	const dt = 0.1
	for {
		if now += r.ExpFloat64() / t.Rate; now >= end {
			break
		}
		w := 0
		for i := range free {
			if free[i] < free[w] {
				w = i
			}
		}
		service := f.service
		if !f.constant {
			service *= r.ExpFloat64()
		}
		finish := max(now, free[w]) + service
		free[w] = finish
		done = append(done, now, finish)
		if now >= t.Settle.Seconds() {
			sent++
			if finish-now <= f.timeout {
				good++
			}
		}
	}
	o := observe(t, sent, good)
	var inFlight []float64
	for at := t.Settle.Seconds(); at < end; at += dt {
		n := 0.0
		for i := 0; i < len(done); i += 2 {
			if done[i] <= at && done[i+1] > at {
				n++
			}
		}
		inFlight = append(inFlight, n)
	}
	o.Growing, _, _ = stat.Growing(inFlight, time.Duration(dt*float64(time.Second)))
	last := 0.0
	for _, at := range free {
		last = max(last, at)
	}
	o.Elapsed = time.Duration(max(last, end+f.timeout) * float64(time.Second))
	return o
}

// cold answers its first n requests too late, and is a hinge after that.
type cold struct {
	n    float64
	warm curve
}

func (c *cold) run(t search.Trial, r *rand.Rand) search.Observation {
	total := t.Rate * (t.Settle + t.Measure).Seconds()
	slow := max(0, c.n-t.Rate*t.Settle.Seconds())
	o := c.warm.run(t, r)
	lost := min(float64(o.Good), slow)
	c.n = max(0, c.n-total)
	return observe(t, o.Sent, o.Good-uint64(lost))
}

// poisson is normal when it is large.
func poisson(r *rand.Rand, mean float64) uint64 {
	if mean > 500 {
		return uint64(max(0, math.Round(mean+r.NormFloat64()*math.Sqrt(mean))))
	}
	n, p, limit := uint64(0), r.Float64(), math.Exp(-mean)
	for ; p > limit; n++ {
		p *= r.Float64()
	}
	return n
}
