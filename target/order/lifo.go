package order

import (
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "lifo",
		Doc:   "serves the request that came last: under overload few wait briefly, the rest for ever",
		Worse: "without deadlines: the bottom of the stack waits for ever and takes up memory, and nothing is ever served in the order in which it came",
		Knobs: func() any { return &plainKnobs{Sweep: true} },
		New: func(_ Setup, knobs any) (Order, error) {
			return &lifo{keeper: keeper{knobs.(*plainKnobs).Sweep}}, nil
		},
	})
}

type lifo struct {
	list
	keeper
}

func (o *lifo) Push(_ time.Duration, r *protection.Request) { o.pushBack(r) }

func (o *lifo) Pop(time.Duration, protection.Load) *protection.Request {
	r := o.last
	if r != nil {
		o.Remove(r)
	}
	return r
}
