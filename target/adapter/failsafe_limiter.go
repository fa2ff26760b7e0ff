package adapter

import (
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"knee/target/plugin"
	"knee/target/protection"
)

// ReasonFailsafeLimiter is why failsafe_limiter refuses: as many requests are
// inside as its limit allows.
const ReasonFailsafeLimiter protection.Reason = "failsafe_limiter"

func init() {
	register(plugin.Info[protection.New]{
		Name:  "failsafe_limiter",
		Doc:   "limits the requests inside by how response times change (failsafe-go's adaptive limiter)",
		Worse: "when the server is overloaded from the start, as that is the baseline then; when few requests come, as it needs 50 and a second to move; and with callers that come back at once, against whom it closes too far",
		Knobs: func() any {
			return &limiterKnobs{
				Min: 1, Max: 200, Initial: 20, MaxFactor: 5,
				Window: time.Second, MaxWindow: 30 * time.Second, Samples: 50, Quantile: 0.9, Baseline: 10, Correlation: 50,
			}
		},
		New: newLimiter,
	})
}

// The defaults are the library's.
type limiterKnobs struct {
	Min         int           `yaml:"min" doc:"lowest limit on the requests inside, at least 1"`
	Max         int           `yaml:"max" doc:"highest limit, at least min"`
	Initial     int           `yaml:"initial" doc:"limit at first, from min to max"`
	MaxFactor   float64       `yaml:"max_factor" doc:"limit at most, in multiples of the requests that were inside, at least 1"`
	Window      time.Duration `yaml:"window" doc:"time between two changes of the limit, above 0"`
	MaxWindow   time.Duration `yaml:"max_window" doc:"longest window, at least window; the library takes it and goes by samples alone"`
	Samples     int           `yaml:"samples" doc:"requests that a window holds at least, at least 1"`
	Quantile    float64       `yaml:"quantile" doc:"quantile of the response times of a window to go by, above 0, below 1"`
	Baseline    int           `yaml:"baseline" doc:"windows that the baseline remembers, at least 1"`
	Correlation int           `yaml:"correlation" doc:"windows over which limit, throughput and response time are correlated, at least 1"`
}

// limiter asks the library for a permit and gives it back with the time that the
// request was inside, from arrival to answer. What was dropped or failed gives
// it back without, as the library wants it. It never waits for a permit: the
// server has a queue of its own. It does not look at what is protected: a limit is
// a limit.
type limiter struct {
	adaptivelimiter.AdaptiveLimiter[any]
	permits map[*protection.Request]adaptivelimiter.Permit
}

func newLimiter(_ protection.Setup, knobs any) (protection.Protection, error) {
	k := knobs.(*limiterKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.Min < 1 {
		bad("min", k.Min, "a number of requests, at least 1")
	} else if k.Max < k.Min {
		bad("max", k.Max, "a number of requests, at least min")
	} else if k.Initial < k.Min || k.Initial > k.Max {
		bad("initial", k.Initial, "a number of requests from min to max")
	}
	if !(k.MaxFactor >= 1) { // not a number fails too
		bad("max_factor", k.MaxFactor, "a factor of at least 1")
	}
	if k.Window <= 0 {
		bad("window", k.Window, "a duration above 0")
	} else if k.MaxWindow < k.Window {
		bad("max_window", k.MaxWindow, "a duration of at least window")
	}
	if k.Samples < 1 {
		bad("samples", k.Samples, "a number of requests, at least 1")
	}
	if !(k.Quantile > 0 && k.Quantile < 1) {
		bad("quantile", k.Quantile, "a quantile above 0, below 1")
	}
	if k.Baseline < 1 {
		bad("baseline", k.Baseline, "a number of windows, at least 1")
	}
	if k.Correlation < 1 {
		bad("correlation", k.Correlation, "a number of windows, at least 1")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &limiter{
		AdaptiveLimiter: adaptivelimiter.NewBuilder[any]().
			WithLimits(uint(k.Min), uint(k.Max), uint(k.Initial)).
			WithMaxLimitFactor(k.MaxFactor).
			WithRecentWindow(k.Window, k.MaxWindow, uint(k.Samples)).
			WithRecentQuantile(k.Quantile).
			WithBaselineWindow(uint(k.Baseline)).
			WithCorrelationWindow(uint(k.Correlation)).
			Build(),
		permits: map[*protection.Request]adaptivelimiter.Permit{},
	}, nil
}

func (p *limiter) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	permit, ok := p.TryAcquirePermit()
	if !ok {
		return ReasonFailsafeLimiter
	}
	p.permits[r] = permit
	return ""
}

func (p *limiter) Leave(_ time.Duration, r *protection.Request, e protection.End) {
	permit := p.permits[r]
	delete(p.permits, r)
	if e.Outcome == protection.Served {
		permit.Record()
	} else {
		permit.Drop()
	}
}
