package protection

import (
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "limit",
		Doc:   "lets in a fixed number of requests at a time, those that wait included",
		Knobs: func() any { return new(limitKnobs) },
		New:   newLimit,
	})
}

type limitKnobs struct {
	Limit int `yaml:"limit" doc:"requests in flight, waiting and in service together; at least 1; must be set"`
}

// limit is a bulkhead. It counts what waits as well as what runs, so a limit
// above the number of workers bounds the queue too.
type limit struct{ max int }

func newLimit(_ Setup, knobs any) (Protection, error) {
	k := knobs.(*limitKnobs)
	if k.Limit < 1 {
		return nil, plugin.Knob("limit", k.Limit, "a number of requests, at least 1")
	}
	return limit{max: k.Limit}, nil
}

func (p limit) Admit(_ time.Duration, _ *Request, l Load) Reason {
	if l.Admitted >= p.max {
		return ReasonLimit
	}
	return ""
}

func (limit) Leave(time.Duration, *Request, End) {}
