package protection

import (
	"errors"
	"strconv"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "codel",
		Doc:   "drops from a queue that has been standing for an interval (CoDel, in four variants)",
		Worse: "with rfc8289 and callers that do not slow down, beyond 1.25 times capacity: it drops too few, too late, and the queue outgrows their timeouts",
		Knobs: func() any {
			return &codelKnobs{Target: 5 * time.Millisecond, Interval: 100 * time.Millisecond, Variant: codelRFC8289}
		},
		New: newCodel,
	})
}

// The variants of codel.
const (
	codelRFC8289 = "rfc8289"
	codelLinux   = "linux"
	codelFolly   = "folly"
	codelMaurer  = "maurer"
)

type codelKnobs struct {
	Target   time.Duration `yaml:"target" doc:"wait that a queue may keep up, a duration above 0; with maurer, how long a request may wait in a standing queue"`
	Interval time.Duration `yaml:"interval" doc:"how long a queue may be above target before it counts as standing, a duration above 0; with maurer, how long it may go without being empty, and how long a request may wait until then"`
	Variant  string        `yaml:"variant" doc:"rfc8289, linux (the kernel's), folly (drops all that waited twice the target), or maurer (short timeouts while the queue is never empty); the last two hold where callers do not slow down"`
}

func newCodel(_ Setup, knobs any) (Protection, error) {
	k := knobs.(*codelKnobs)
	var errs []error
	if k.Target <= 0 {
		errs = append(errs, plugin.Knob("target", k.Target, "a duration above 0"))
	}
	if k.Interval <= 0 {
		errs = append(errs, plugin.Knob("interval", k.Interval, "a duration above 0"))
	}
	var p Protection
	switch k.Variant {
	case codelRFC8289, codelLinux:
		p = &codel{target: k.Target, interval: k.Interval, linux: k.Variant == codelLinux}
	case codelFolly:
		p = &follyCodel{target: k.Target, interval: k.Interval, first: true}
	case codelMaurer:
		p = &maurerCodel{short: k.Target, long: k.Interval}
	default:
		errs = append(errs, plugin.Knob("variant", strconv.Quote(k.Variant), "rfc8289, linux, folly or maurer"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// standing returns the age at now of the queue that r has just left: that of
// the oldest request in it. With FIFO that is r. With an order that serves the
// newest first, the age of r says nothing of the queue, and CoDel, asked about
// it, would never see one that stands, as in HBase's adaptive LIFO.
func standing(now time.Duration, r *Request, l *Load) time.Duration {
	return now - min(r.Arrived, l.Oldest)
}
