package fleet

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[NewBalancer]{
		Name: "round_robin",
		Doc:  "sends requests to the servers in turn, whatever state they are in",
		New:  func(*rand.Rand, any) (Balancer, error) { return &roundRobin{last: -1}, nil },
	})
}

// roundRobin takes turns over whoever is in service at the time.
type roundRobin struct{ last int }

func (b *roundRobin) Pick(_ time.Duration, among []*Backend) *Backend {
	b.last = (b.last + 1) % len(among)
	return among[b.last]
}

func (*roundRobin) Done(time.Duration, *Backend, Outcome) {}
