package fleet

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[NewBalancer]{
		Name:  "two_choices",
		Doc:   "draws two servers at random and sends the request to the one with fewer requests open",
		Knobs: defaultJudge,
		New:   newTwoChoices,
	})
}

func newTwoChoices(r *rand.Rand, knobs any) (Balancer, error) {
	j, err := newJudge(knobs.(*judgeKnobs))
	if err != nil {
		return nil, err
	}
	return &twoChoices{judge: j, rand: r}, nil
}

// twoChoices is the power of two choices (Mitzenmacher 1996): nearly as even as
// to ask all, without the herd that runs to a single least one. Of two equals
// the one drawn first is taken.
type twoChoices struct {
	judge
	rand *rand.Rand
}

func (b *twoChoices) Pick(now time.Duration, among []*Backend) *Backend {
	n := len(among)
	i := b.rand.IntN(n)
	if n == 1 {
		return among[i]
	}
	k := b.rand.IntN(n - 1)
	if k >= i {
		k++
	}
	first, second := among[i], among[k]
	if b.failures && b.load(now, second) < b.load(now, first) || !b.failures && second.Outstanding < first.Outstanding {
		return second
	}
	return first
}
