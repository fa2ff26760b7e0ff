package plan

import (
	"math/rand/v2"
	"time"
)

// A Redraw draws the work of further attempts of a plan's arrivals, as a retry or
// a hedge that takes its chance anew. It is for one goroutine.
type Redraw struct {
	works []Work // by class
	seed  uint64
	pcg   rand.PCG
	rand  *rand.Rand
}

// Redraw returns what draws the work of further attempts; nil when they take the
// work of the first (Spec.Sticky), or there is none.
func (p *Plan) Redraw() *Redraw {
	if p.spec.Sticky {
		return nil
	}
	r := &Redraw{works: make([]Work, len(p.spec.Classes)), seed: mix(p.spec.Seed ^ 0x72656472617721)}
	r.rand = rand.New(&r.pcg)
	some := false
	for i, c := range p.spec.Classes {
		r.works[i] = p.spec.Work
		if c.Work != nil {
			r.works[i] = c.Work
		}
		some = some || r.works[i] != nil
	}
	if !some {
		return nil
	}
	return r
}

// Work returns the work of attempt number, from 2, of arrival a. It follows from
// the plan's seed, the arrival and the number alone, in whatever order attempts
// are made.
func (r *Redraw) Work(a *Arrival, number int) time.Duration {
	w := r.works[a.Class]
	if w == nil {
		return a.Work
	}
	if k, ok := w.(constantWork); ok && k.Constant() {
		return a.Work // with the jitter it has
	}
	r.pcg.Seed(mix(r.seed^a.Seq), mix(r.seed+uint64(number)))
	return w.Draw(r.rand)
}
