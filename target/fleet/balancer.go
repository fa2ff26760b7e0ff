package fleet

import (
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

// A Backend is what a balancer knows of a server.
type Backend struct {
	Outstanding int // requests that were sent to it, are not answered, and whose caller has not given up

	// See judge.
	latency             float64 // of answers, ns, a moving mean
	outcomes, successes float64 // decaying counts
	judged              time.Duration
	known               bool // there was an outcome

	node *node
}

// An Outcome is what became of a request at a backend, as its balancer sees it.
type Outcome struct {
	Took     time.Duration // from picking the backend to the answer, or until the caller gave up
	Rejected bool
	Failed   bool // it failed, was lost, or the caller gave up
}

// A Balancer picks the server for a request.
type Balancer interface {
	// Pick returns one of among, which has at least one.
	Pick(now time.Duration, among []*Backend) *Backend
	// Done is told what became of a request that b was picked for, after
	// b.Outstanding was counted down. It is called once for each.
	Done(now time.Duration, b *Backend, o Outcome)
}

// NewBalancer builds a balancer from its knobs. The random stream is its own.
type NewBalancer func(r *rand.Rand, knobs any) (Balancer, error)

// Registry holds all balancers.
var Registry = plugin.NewRegistry[NewBalancer]("balancer")

// rotation finds the next of several that are equally good: the first after the
// one that was taken last, so that equals take turns.
type rotation struct{ last int }

// least returns the backend with the lowest score.
func (r *rotation) least(now time.Duration, among []*Backend, score func(time.Duration, *Backend) float64) *Backend {
	best, lowest := 0, 0.0
	for k := range among {
		i := (r.last + 1 + k) % len(among)
		if s := score(now, among[i]); k == 0 || s < lowest {
			best, lowest = i, s
		}
	}
	r.last = best
	return among[best]
}
