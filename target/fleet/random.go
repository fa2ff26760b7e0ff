package fleet

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[NewBalancer]{
		Name: "random",
		Doc:  "sends each request to a server drawn at random, each as likely as the others",
		New:  func(r *rand.Rand, _ any) (Balancer, error) { return &random{rand: r}, nil },
	})
}

type random struct{ rand *rand.Rand }

func (b *random) Pick(_ time.Duration, among []*Backend) *Backend {
	return among[b.rand.IntN(len(among))]
}

func (*random) Done(time.Duration, *Backend, Outcome) {}
