package server

import "time"

// remembered is about how many of the latest requests the measured rate rests on.
const remembered = 256

// throughput measures how much cost a worker gets through per second of work.
type throughput struct {
	cost    float64
	service float64 // nanoseconds
}

// declared is the throughput of requests of cost 1 and the declared mean service time.
func declared(service time.Duration) throughput {
	return throughput{cost: remembered, service: remembered * float64(service)}
}

func (t *throughput) add(cost float64, service time.Duration) {
	const keep = 1 - 1.0/remembered
	t.cost = t.cost*keep + cost
	t.service = t.service*keep + float64(service)
}

// rate returns the cost per second that so many workers get through.
func (t *throughput) rate(workers int) float64 {
	return float64(workers) * float64(time.Second) * t.cost / t.service
}
