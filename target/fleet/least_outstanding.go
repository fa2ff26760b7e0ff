package fleet

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[NewBalancer]{
		Name:  "least_outstanding",
		Doc:   "sends each request to the server with the fewest requests open, of equals to the next in turn",
		Knobs: defaultJudge,
		New:   newLeastOutstanding,
	})
}

func newLeastOutstanding(_ *rand.Rand, knobs any) (Balancer, error) {
	j, err := newJudge(knobs.(*judgeKnobs))
	if err != nil {
		return nil, err
	}
	return &leastOutstanding{judge: j, rotation: rotation{last: -1}}, nil
}

// leastOutstanding is drawn to who answers fast, and nothing answers as fast as
// a refusal. Where rejections count as failures it takes the requests open per
// share of successes in place of the plain number.
type leastOutstanding struct {
	judge
	rotation
}

func (b *leastOutstanding) Pick(now time.Duration, among []*Backend) *Backend {
	if b.failures {
		return b.least(now, among, b.load)
	}
	return b.least(now, among, outstanding)
}

func outstanding(_ time.Duration, s *Backend) float64 { return float64(s.Outstanding) }
