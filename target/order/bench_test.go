package order_test

import (
	"testing"
	"time"

	"knee/target/protection"
)

// BenchmarkOrder pushes a request and pops one, while a thousand of 20 tenants wait.
func BenchmarkOrder(b *testing.B) {
	for _, spec := range []string{
		"fifo", "adaptive_lifo", "priority", "priority:reserve=0.1", "fair", "fair:push_out=none", "fair:quantum=0.1",
		"fair:by=client", "fair:scheduler=sfq",
	} {
		b.Run(spec, func(b *testing.B) {
			o := makeOrder(b, spec)
			var now time.Duration
			push := func(r *protection.Request) {
				now += time.Millisecond
				r.Arrived = now
				o.Push(now, r)
			}
			for i := range 1000 {
				push(&protection.Request{Tenant: "tenant " + string(rune('a'+i%20)), Client: uint32(i % 20), Cost: 1, Criticality: protection.Criticality(i % 4)})
			}
			l := protection.Load{Waiting: o.Len(), Running: 1}
			b.ReportAllocs()
			for b.Loop() {
				push(o.Pop(now, l))
			}
		})
	}
}
