package order

import (
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "fifo",
		Doc:   "serves the request that waits longest",
		Knobs: func() any { return &plainKnobs{Sweep: true} },
		New: func(_ Setup, knobs any) (Order, error) {
			return &fifo{keeper: keeper{knobs.(*plainKnobs).Sweep}}, nil
		},
	})
}

type fifo struct {
	list
	keeper
}

func (o *fifo) Push(_ time.Duration, r *protection.Request) { o.pushBack(r) }

func (o *fifo) Pop(time.Duration, protection.Load) *protection.Request {
	r := o.first
	if r != nil {
		o.Remove(r)
	}
	return r
}
