package record

import "sync"

// A Delta is what happened in one window of the run's clock. Deltas add up, in
// any order, to everything that a run counts.
//
// Its counts can be negative (modulo 2^64) where an attempt was taken back.
type Delta struct {
	Window int        // the window of the run's clock, in units of Window, in which it happened
	Steps  []StepInfo // that began
	Cells  []Cell     // what was counted, by the step, window and class of the original
	Hists  []Hist     // of a second or more, once each second

	pool *pool
}

// A Cell counts what happened to the originals of one class that were planned
// in one window of a step.
type Cell struct {
	Step, Class int
	Window      int // of the step, in units of Window since its start
	Counts
	Reasons []Reason
}

// A Reason counts the endings of one kind that have the same reason.
type Reason struct {
	Kind   Kind
	Reason string
	Count  uint64
}

// A Hist holds durations of the originals of one class that were planned in one
// second of a step.
type Hist struct {
	Step, Class int
	Second      int // of the step, in units of HistWindow since its start
	Of          [Populations]*Histogram
}

// A Population is a set of durations. A quantile means nothing without the name
// of the population that it is of.
type Population uint8

const (
	Response     Population = iota // of good originals, from planned to done
	Service                        // of good originals, from the sending of the attempt that decided to done
	Reject                         // of rejected originals, from the sending of the attempt that decided to done
	LateResponse                   // of late originals, from planned to done
	Lag                            // of attempts, from when they were to be sent to when they were
	Populations                    // how many there are
)

// Release gives d back to the recorder that made it; d is not used afterwards.
// Each Delta is released by whoever owns it: the Sink, or the one that the Sink
// handed it to, on any goroutine.
func (d *Delta) Release() {
	if d.pool != nil {
		d.pool.give(d)
	}
}

// empty reports whether nothing happened.
func (d *Delta) empty() bool { return len(d.Steps)+len(d.Cells)+len(d.Hists) == 0 }

// add returns a new, empty cell. moved reports that cells returned before are
// elsewhere now.
func (d *Delta) add(step, window, class int) (c *Cell, moved bool) {
	n := len(d.Cells)
	if n < cap(d.Cells) {
		d.Cells = d.Cells[:n+1]
	} else {
		d.Cells = append(d.Cells, Cell{})
		moved = n > 0
	}
	c = &d.Cells[n]
	*c = Cell{Step: step, Window: window, Class: class, Reasons: c.Reasons[:0]}
	return c, moved
}

// sent adds n attempts.
func (c *Counts) sent(n uint64, first, hedge bool) {
	c.Attempts += n
	if first {
		c.Sent += n
	}
	if hedge {
		c.Hedges += n
	}
}

// count adds one to the endings of kind that have reason. It reports false when
// the cell does not know the reason yet.
func (c *Cell) count(k Kind, reason string) bool {
	for i := range c.Reasons {
		if r := &c.Reasons[i]; r.Kind == k && r.Reason == reason {
			r.Count++
			return true
		}
	}
	return false
}

// pool keeps the memory of released Deltas. The recorder takes, any goroutine
// gives.
type pool struct {
	mu     sync.Mutex
	deltas []*Delta
	hists  []*Histogram
}

func (p *pool) give(d *Delta) {
	for _, h := range d.Hists {
		for _, of := range h.Of {
			if of != nil {
				of.reset()
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range d.Hists {
		for _, of := range h.Of {
			if of != nil {
				p.hists = append(p.hists, of)
			}
		}
	}
	d.Steps, d.Cells, d.Hists = d.Steps[:0], d.Cells[:0], d.Hists[:0]
	p.deltas = append(p.deltas, d)
}

// delta returns an empty delta.
func (p *pool) delta() *Delta {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.deltas); n > 0 {
		d := p.deltas[n-1]
		p.deltas = p.deltas[:n-1]
		return d
	}
	return &Delta{pool: p}
}

// histogram returns an empty histogram, nil when none was given back.
func (p *pool) histogram() *Histogram {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.hists); n > 0 {
		h := p.hists[n-1]
		p.hists = p.hists[:n-1]
		return h
	}
	return nil
}
