package fleet_test

import (
	"testing"
	"time"

	"knee/target/fleet"
	"knee/target/protection"
)

// BenchmarkFleet runs six servers behind each balancer at 90% of their capacity.
// An iteration is a request.
func BenchmarkFleet(b *testing.B) {
	for _, kind := range fleet.Registry.Names() {
		b.Run(kind, func(b *testing.B) {
			l := servers("front", 6, 10, 10*ms)
			l.Balancer = balancer(kind, "")
			o := newRun(b, fleet.Spec{Layers: []fleet.Layer{l}})
			requests := make([]protection.Request, 1000)
			b.ReportAllocs()
			for i := range b.N {
				at := time.Duration(i) * time.Second / 5400
				for o.Next() <= at {
					o.Advance(o.Next())
					o.Effects()
				}
				r := &requests[i%len(requests)]
				*r = protection.Request{Cost: 1, Work: 10 * ms, Arrived: at, Deadline: protection.Never}
				o.Arrive(at, r)
				o.Effects()
			}
		})
	}
}
