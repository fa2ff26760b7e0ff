package fleet

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[NewBalancer]{
		Name:  "fastest",
		Doc:   "sends each request to the server that answers fastest of late, given what it has open",
		Knobs: defaultJudge,
		New:   newFastest,
	})
}

func newFastest(_ *rand.Rand, knobs any) (Balancer, error) {
	j, err := newJudge(knobs.(*judgeKnobs))
	if err != nil {
		return nil, err
	}
	return &fastest{judge: j, rotation: rotation{last: -1}}, nil
}

// fastest takes the server with the lowest latency times open requests, as
// Finagle and Linkerd do; they let a single slow answer raise the latency at
// once (peak EWMA), where this takes the mean. Where rejections count as
// failures the product is divided by the share of successes.
type fastest struct {
	judge
	rotation
}

func (b *fastest) Pick(now time.Duration, among []*Backend) *Backend {
	return b.least(now, among, b.cost)
}

// cost of a server that was never asked is nothing. One that has not answered yet
// is taken to need as long as outcomes are remembered.
func (b *fastest) cost(now time.Duration, s *Backend) float64 {
	switch {
	case s.known:
		return s.latency * b.remember(now, s) * b.load(now, s)
	case s.Outstanding == 0:
		return 0
	}
	return b.decay * b.load(now, s)
}
