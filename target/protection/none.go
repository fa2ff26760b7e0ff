package protection

import (
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "none",
		Doc:   "lets every request in",
		Worse: "from the knee on: everybody waits until nobody is answered in time",
		New:   func(Setup, any) (Protection, error) { return none{}, nil },
	})
}

type none struct{}

func (none) Admit(time.Duration, *Request, Load) Reason { return "" }

func (none) Leave(time.Duration, *Request, End) {}
