package plan

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// A Cursor walks over the arrivals of a plan in the order of time. It is for
// one goroutine.
//
// Arrivals stand on the integral of the rate. Constant ones are due where it
// reaches 0.5, 1.5, 2.5 …, so that a plan has its expected number of arrivals
// to within a half; the count is carried across steps. Poisson ones are due
// after gaps of the unit exponential distribution, and so are bursty ones, on
// the integral of a rate that is switched.
//
// A class with phases of its own has its own walk and its own draws; where two
// arrivals are due at once, the one of the plan's phases goes first, and then
// those of classes in their order.
type Cursor struct {
	plan  *Plan
	shift time.Duration
	heads []head
	only  *head // of a plan of one flow
	taken *head // of several, whose arrival went last; nil before the first
	step  int
	ends  time.Duration // of step, since the start of the plan; the last one has no end
	seq   uint64
	last  time.Duration // At of the arrival before, of the whole plan
	works []workDraw    // by class
}

// A head is how far a cursor is in one flow, and the arrival that it has there.
type head struct {
	walk walk
	due  time.Duration // since the start of the plan
	over bool          // there is no arrival

	picks []uint64 // the flow's, and its class
	class int

	pick, client rand.PCG
	jitter       *rand.PCG // nil: instants stay where they are
}

// A workDraw draws the work of one class.
type workDraw struct {
	work   Work // nil: there is none
	rand   *rand.Rand
	jitter *rand.PCG // nil: none is added
}

// Cursor returns a cursor at the first arrival. All instants are shifted by start.
func (p *Plan) Cursor(start time.Duration) *Cursor {
	seed := p.spec.Seed
	c := &Cursor{
		plan:  p,
		shift: start,
		heads: make([]head, len(p.flows)),
		step:  -1,
		last:  start - 1,
		works: p.workDraws(),
	}
	for i := range p.flows {
		f := &p.flows[i]
		name := f.name
		h := head{walk: p.walk(f), picks: f.picks, class: f.class, pick: *stream(seed, "class"+name), client: *stream(seed, "client"+name)}
		if p.spec.Jitter && f.offsets == nil && !f.poisson {
			h.jitter = stream(seed, "jitter at"+name)
		}
		c.heads[i] = h
	}
	if len(c.heads) == 1 {
		c.only = &c.heads[0]
	}
	return c
}

// workDraws returns what draws the work of each class. Classes that share the
// plan's phases and its work share its streams.
func (p *Plan) workDraws() []workDraw {
	draw := func(w Work, whose string) workDraw {
		d := workDraw{work: w, rand: rand.New(stream(p.spec.Seed, "work"+whose))}
		if k, ok := w.(constantWork); ok && k.Constant() && p.spec.Jitter {
			d.jitter = stream(p.spec.Seed, "jitter work"+whose)
		}
		return d
	}
	common := draw(p.spec.Work, "")
	draws := make([]workDraw, len(p.spec.Classes))
	for i, c := range p.spec.Classes {
		switch {
		case c.Work != nil:
			draws[i] = draw(c.Work, " of class "+c.Name)
		case !shared(c):
			draws[i] = draw(p.spec.Work, " of class "+c.Name)
		default:
			draws[i] = common
		}
	}
	return draws
}

// Next returns the next arrival, or false at the end. It does not allocate.
//
// Arrivals that would fall on one nanosecond are moved apart by one each,
// which may take the last ones that little past the end of the plan.
func (c *Cursor) Next() (Arrival, bool) {
	var a Arrival
	if !c.Fetch(&a) {
		return Arrival{}, false
	}
	return a, true
}

// Fetch is Next for those who count nanoseconds: it puts the arrival where it is
// wanted, which spares copying it field by field. At the end it returns
// false, and a means nothing.
func (c *Cursor) Fetch(a *Arrival) bool {
	p := c.plan
	for {
		h := c.only
		if h == nil {
			if h = c.first(); h == nil {
				return false
			}
		} else if h.pull(); h.over {
			return false
		}
		if h.due >= c.ends {
			c.reach(h.due)
		}
		a.Seq = c.seq
		a.At = max(h.due+c.shift, c.last+1)
		a.Step = c.step
		a.Class = h.class
		if h.picks != nil {
			a.Class = pick(h.picks, &h.pick)
		}
		a.Client = clientOf(&h.client, p.spec.Clients)
		a.Work = 0
		c.seq++
		c.last = a.At
		if d := &c.works[a.Class]; d.work != nil {
			a.Work = d.work.Draw(d.rand)
			if d.jitter != nil {
				a.Work += time.Duration(below(d.jitter, workJitter(a.Work)))
			}
		}
		// What belongs to others is drawn all the same: a share must not
		// shift the draws of the arrivals that it keeps.
		if p.share.holds(a.Client) {
			return true
		}
	}
}

// reach goes to the step that is on at an instant that lies past the present one.
func (c *Cursor) reach(at time.Duration) {
	steps := c.plan.steps
	for at >= c.ends {
		c.step++
		c.ends = math.MaxInt64
		if c.step+1 < len(steps) {
			c.ends = steps[c.step+1].Start
		}
	}
}

// first returns the head of several whose arrival comes next, or nil at the end.
func (c *Cursor) first() *head {
	if c.taken == nil {
		for i := range c.heads {
			c.heads[i].pull()
		}
	} else {
		c.taken.pull()
	}
	var next *head
	for i := range c.heads {
		if h := &c.heads[i]; !h.over && (next == nil || h.due < next.due) {
			next = h
		}
	}
	c.taken = next
	return next
}

// pull takes the next arrival of the flow, if there is one.
func (h *head) pull() {
	w := &h.walk
	if w.segment == nil {
		if h.over = w.at == len(w.flow.offsets); !h.over {
			h.due = w.flow.offsets[w.at]
			w.at++
		}
		return
	}
	y, ok := w.next()
	if !ok {
		h.over = true
		return
	}
	g := w.segment
	if w.bursts != nil {
		h.due = w.instant(y)
		return
	}
	h.due = g.at(y)
	if h.jitter != nil && g.jitter > 0 {
		h.due = min(h.due+time.Duration(below(h.jitter, g.jitter)), g.start+g.duration-1)
	}
}

// below returns a number in [0, n), n at most 2³². The bias of less than
// n/2⁶⁴ is far below what any test could see.
func below(r *rand.PCG, n uint64) uint64 {
	hi, _ := bits.Mul64(r.Uint64(), n)
	return hi
}

// workJitter returns the bound of the jitter of constant work in nanoseconds: a
// microsecond, but no more than a hundredth of the work, so that its mean stays
// what was asked for.
func workJitter(work time.Duration) uint64 {
	return uint64(max(1, min(1000, work/100)))
}
