package order

import (
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name: "lifo",
		Doc:  "serves the request that came last: under overload few wait briefly, the rest for ever",
		New:  func(Setup, any) (Order, error) { return new(lifo), nil },
	})
}

type lifo struct{ list }

func (o *lifo) Push(_ time.Duration, r *protection.Request) { o.pushBack(r) }

func (o *lifo) Pop(time.Duration, protection.Load) *protection.Request {
	r := o.last
	if r != nil {
		o.Remove(r)
	}
	return r
}
