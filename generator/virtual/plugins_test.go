package virtual

import (
	"math/rand/v2"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// newOrder returns a constructor of the order called kind, with its defaults.
func newOrder(kind string) func() (order.Order, error) {
	return func() (order.Order, error) {
		info, err := order.Registry.Lookup(kind)
		if err != nil {
			return nil, err
		}
		var values any
		if info.Knobs != nil {
			values = info.Knobs()
		}
		return info.New(order.Setup{Rand: rand.New(rand.NewPCG(1, 2))}, values)
	}
}

// link returns a link of a chain: kind with knobs in YAML.
func link(kind, knobs string, workers int, service time.Duration) server.Link {
	return server.Link{Kind: kind, New: func() (protection.Protection, error) {
		info, err := protection.Registry.Lookup(kind)
		if err != nil {
			return nil, err
		}
		var values any
		if info.Knobs != nil {
			values = info.Knobs()
			if err := yaml.Unmarshal([]byte(knobs), values); err != nil {
				return nil, err
			}
		}
		return info.New(protection.Setup{
			Workers: workers,
			Service: service,
			Rand:    rand.New(rand.NewPCG(3, 4)),
		}, values)
	}}
}
