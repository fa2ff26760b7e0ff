package protection

import (
	"errors"
	"math"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "limit",
		Doc:   "lets in a fixed number of requests at a time, those that wait included (bulkhead)",
		Worse: "whenever service times change: the right number is rate × time (Little), and only one of the two is known beforehand",
		Knobs: func() any { return &limitKnobs{PartitionKnobs: unshared} },
		New:   newLimit,
	})
}

type limitKnobs struct {
	Limit          int           `yaml:"limit" doc:"requests in flight, waiting and in service together; at least 1; this or rate and time must be set"`
	Rate           float64       `yaml:"rate" doc:"in place of limit, with time: requests per second that are to get through, above 0; the limit is rate × time, rounded up (Little's law)"`
	Time           time.Duration `yaml:"time" doc:"in place of limit, with rate: how long a request may be inside, above 0"`
	PartitionKnobs `yaml:",inline"`
}

// limit is a bulkhead. It counts what waits as well as what runs, so a limit
// above the number of workers bounds the queue too.
type limit struct {
	*gate
	max int
}

func newLimit(s Setup, knobs any) (Protection, error) {
	k := knobs.(*limitKnobs)
	gate, err := k.build(s)
	if err := errors.Join(err, k.check()); err != nil {
		return nil, err
	}
	most := k.Limit
	if k.Limit == 0 {
		most = int(min(math.Ceil(k.Rate*k.Time.Seconds()-1e-9), math.MaxInt32))
	}
	return &limit{gate: gate, max: max(1, most)}, nil
}

// check returns what is wrong with the knobs: each by itself, and then together.
func (k *limitKnobs) check() error {
	var errs []error
	if k.Limit < 0 {
		errs = append(errs, plugin.Knob("limit", k.Limit, "a number of requests, at least 1"))
	}
	if !(k.Rate >= 0 && k.Rate <= 1e9) {
		errs = append(errs, plugin.Knob("rate", k.Rate, "requests per second, above 0, up to 1e9"))
	}
	if k.Time < 0 {
		errs = append(errs, plugin.Knob("time", k.Time, "a duration above 0"))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	switch {
	case k.Limit > 0 && (k.Rate > 0 || k.Time > 0):
		return plugin.Knob("limit", k.Limit, "nothing beside rate and time, whose product is the limit")
	case k.Limit > 0 || k.Rate > 0 && k.Time > 0:
		return nil
	case k.Rate > 0:
		return plugin.Knob("time", k.Time, "a duration above 0, beside a rate")
	case k.Time > 0:
		return plugin.Knob("rate", k.Rate, "requests per second, above 0, beside a time")
	}
	return plugin.Knob("limit", k.Limit, "a number of requests, at least 1; or a rate and a time")
}

func (p *limit) Admit(_ time.Duration, r *Request, l Load) Reason {
	if !p.admit(r, l.Admitted, p.max) {
		return ReasonLimit
	}
	return ""
}

func (p *limit) Leave(_ time.Duration, r *Request, _ End) { p.leave(r) }

func (p *limit) Limit() int { return p.max }
