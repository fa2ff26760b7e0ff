package protection_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// served is what a server answered in the second half of a simulation.
type served struct {
	perSecond [4]float64 // by criticality
	good      float64    // per second, within 300ms
	degraded  float64    // share
	p95       time.Duration
}

func (s *served) total() (sum float64) {
	for _, x := range s.perSecond {
		sum += x
	}
	return sum
}

// plainly leaves a request as it is.
func plainly(*protection.Request, *rand.Rand) {}

// simulate offers Poisson arrivals of 50 ms of work each, a fifth when degraded, to
// 100 workers behind a chain: a capacity of 2,000/s of full answers. Each request
// is what draw makes of it.
func simulate(t *testing.T, rate float64, d time.Duration, draw func(*protection.Request, *rand.Rand), chain ...protection.Protection) served {
	t.Helper()
	var links []server.Link
	for _, p := range chain {
		links = append(links, server.Link{Kind: "test", New: func() (protection.Protection, error) { return p, nil }})
	}
	c, err := server.New(server.Spec{
		Workers: 100, Service: 50 * ms, Degraded: 0.2, Chain: links,
		Order: func() (order.Order, error) {
			i, err := order.Registry.Lookup("fifo")
			if err != nil {
				return nil, err
			}
			return i.New(order.Setup{}, i.Knobs())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var s served
	var n, degraded float64
	var responses []time.Duration
	second := 1 / (d / 2).Seconds()
	rng := rand.New(rand.NewPCG(1, 2))
	for at := 0.0; ; {
		at += rng.ExpFloat64() / rate
		now := time.Duration(at * float64(time.Second))
		if now > d {
			break
		}
		r := &protection.Request{Cost: 1, Work: 50 * ms, Arrived: now, Deadline: protection.Never}
		draw(r, rng)
		c.Arrive(now, r)
		for _, e := range c.Effects() {
			if e.Kind != server.Reply || e.At < d/2 {
				continue
			}
			response := e.At - e.R.Arrived
			responses = append(responses, response)
			s.perSecond[e.R.Criticality] += second
			if response <= 300*ms {
				s.good += second
			}
			if n++; e.Answer.Degraded {
				degraded++
			}
		}
	}
	slices.Sort(responses)
	s.degraded, s.p95 = degraded/n, responses[len(responses)*95/100]
	return s
}
