package plan

import (
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
// after gaps of the unit exponential distribution.
type Cursor struct {
	plan  *Plan
	shift time.Duration
	walk  walk
	seq   uint64
	last  time.Duration // At of the arrival before, of the whole plan

	class, client, jitterAt, jitterWork rand.PCG
	work                                *rand.Rand
}

// Cursor returns a cursor at the first arrival. All instants are shifted by start.
func (p *Plan) Cursor(start time.Duration) *Cursor {
	seed := p.spec.Seed
	return &Cursor{
		plan:       p,
		shift:      start,
		walk:       p.walk(),
		last:       start - 1,
		class:      *stream(seed, "class"),
		client:     *stream(seed, "client"),
		jitterAt:   *stream(seed, "jitter at"),
		jitterWork: *stream(seed, "jitter work"),
		work:       rand.New(stream(seed, "work")),
	}
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
		y, ok := c.walk.next()
		if !ok {
			return false
		}
		a.Seq = c.seq
		a.At = c.instant(y)
		a.Step = c.walk.step
		a.Class = pick(p.picks, &c.class)
		a.Client = clientOf(&c.client, p.spec.Clients)
		a.Work = 0
		c.seq++
		if p.spec.Work != nil {
			a.Work = p.spec.Work.Draw(c.work)
			if p.constWork && p.spec.Jitter {
				a.Work += time.Duration(below(&c.jitterWork, 1000))
			}
		}
		// What belongs to others is drawn all the same: a share must not
		// shift the draws of the arrivals that it keeps.
		if p.share.holds(a.Client) {
			return true
		}
	}
}

// instant returns when position y of the walk's segment is due.
func (c *Cursor) instant(y float64) time.Duration {
	g := c.walk.segment
	at := g.at(y)
	if c.plan.spec.Jitter && !c.walk.poisson && g.jitter > 0 {
		at = min(at+time.Duration(below(&c.jitterAt, g.jitter)), g.start+g.duration-1)
	}
	at = max(at+c.shift, c.last+1)
	c.last = at
	return at
}

// below returns a number in [0, n), n at most 2³². The bias of less than
// n/2⁶⁴ is far below what any test could see.
func below(r *rand.PCG, n uint64) uint64 {
	hi, _ := bits.Mul64(r.Uint64(), n)
	return hi
}
