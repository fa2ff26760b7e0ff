package protection

import (
	"errors"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "random",
		Doc:   "refuses at random the share of the load that is beyond capacity",
		Worse: "at every load: it refuses by what comes, not by what waits, so chance alone costs good requests below capacity, and what came in before it noticed a jump stays in the queue",
		Knobs: func() any { return &randomKnobs{Fill: 0.9, Window: 100 * time.Millisecond} },
		New:   newRandom,
	})
}

type randomKnobs struct {
	Share    float64       `yaml:"share" doc:"share of the requests to refuse, whatever the load; above 0, up to 1; 0 means what is beyond capacity"`
	Capacity float64       `yaml:"capacity" doc:"cost per second that the server gets through, above 0; 0 means as measured"`
	Fill     float64       `yaml:"fill" doc:"share of the capacity to use, above 0, up to 1; at 1 a queue that has built up stays, and what is left works it off"`
	Window   time.Duration `yaml:"window" doc:"time over which the load offered is measured, at least 1ms; longer is steadier, but when the load jumps this is how long too much gets in"`
}

// random refuses with probability 1 - C/λ, where λ is the cost per second offered
// over the last window and C is what the server is to get through of it. Protected
// requests count to λ and are let in; the others make up for them.
type random struct {
	share    float64 // 0: by load
	capacity float64 // 0: measured
	fill     float64
	rand     *rand.Rand

	offered   slidingSum
	protected slidingSum // of offered
}

func newRandom(s Setup, knobs any) (Protection, error) {
	k := knobs.(*randomKnobs)
	var errs []error
	if !(k.Share >= 0 && k.Share <= 1) { // not a number fails too
		errs = append(errs, plugin.Knob("share", k.Share, "a share above 0, up to 1"))
	}
	if !(k.Capacity >= 0) {
		errs = append(errs, plugin.Knob("capacity", k.Capacity, "a cost per second above 0"))
	}
	if !(k.Fill > 0 && k.Fill <= 1) {
		errs = append(errs, plugin.Knob("fill", k.Fill, "a share above 0, up to 1"))
	}
	if k.Window < time.Millisecond {
		errs = append(errs, plugin.Knob("window", k.Window, "a duration of at least 1ms"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &random{
		share: k.Share, capacity: k.Capacity, fill: k.Fill, rand: s.Rand,
		offered: newSlidingSum(k.Window), protected: newSlidingSum(k.Window),
	}, nil
}

func (p *random) Needs() string {
	if p.share == 0 {
		return "the cost"
	}
	return ""
}

func (p *random) Admit(now time.Duration, r *Request, l Load) Reason {
	p.offered.add(now, r.Cost)
	if r.Protected {
		p.protected.add(now, r.Cost)
		return ""
	}
	share := p.share
	if share == 0 {
		capacity := p.capacity
		if capacity == 0 {
			capacity = l.CostRate
		}
		share = beyond(p.offered.perSecond(now), p.protected.perSecond(now), p.fill*capacity)
	}
	if share > 0 && p.rand.Float64() < share {
		return ReasonRandom
	}
	return ""
}

// beyond returns the share to refuse of what is not protected, so that capacity is
// left of offered, of which protected is a part.
func beyond(offered, protected, capacity float64) float64 {
	if !(offered > capacity) { // not a number neither
		return 0
	}
	return min(1, (offered-capacity)/(offered-protected))
}

func (*random) Leave(time.Duration, *Request, End) {}
