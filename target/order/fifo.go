package order

import (
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name: "fifo",
		Doc:  "serves the request that waits longest",
		New:  func(Setup, any) (Order, error) { return new(fifo), nil },
	})
}

type fifo struct{ list }

func (o *fifo) Push(_ time.Duration, r *protection.Request) { o.pushBack(r) }

func (o *fifo) Pop(time.Duration, protection.Load) *protection.Request {
	r := o.first
	if r != nil {
		o.Remove(r)
	}
	return r
}
