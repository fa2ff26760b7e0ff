package protection

import (
	"errors"
	"math"
	"time"

	"golang.org/x/time/rate"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "rate",
		Doc:   "lets in a fixed number of requests per second (token bucket)",
		Knobs: func() any { return new(rateKnobs) },
		New:   newRate,
	})
}

type rateKnobs struct {
	Rate  float64 `yaml:"rate" doc:"requests per second; above 0; must be set"`
	Burst int     `yaml:"burst" doc:"requests let in at once after a quiet time; at least 1; 0 means a tenth of a second of the rate, at least 1"`
}

// rateLimit is the token bucket of golang.org/x/time/rate on the clock of the
// run. That limiter mints tokens when it is called with an earlier time than
// before (golang/go#56287), hence last.
type rateLimit struct {
	bucket *rate.Limiter
	last   time.Duration // latest instant seen
}

func newRate(_ Setup, knobs any) (Protection, error) {
	k := knobs.(*rateKnobs)
	var errs []error
	if !(k.Rate > 0) || math.IsInf(k.Rate, 1) {
		errs = append(errs, plugin.Knob("rate", k.Rate, "requests per second, above 0"))
	}
	if k.Burst < 0 {
		errs = append(errs, plugin.Knob("burst", k.Burst, "a number of requests, at least 1"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	burst := k.Burst
	if burst == 0 {
		burst = int(min(max(1, k.Rate/10), math.MaxInt32))
	}
	return &rateLimit{bucket: rate.NewLimiter(rate.Limit(k.Rate), burst)}, nil
}

func (p *rateLimit) Admit(now time.Duration, _ *Request, _ Load) Reason {
	p.last = max(p.last, now)
	if !p.bucket.AllowN(time.Unix(0, 0).Add(p.last), 1) {
		return ReasonRate
	}
	return ""
}

func (*rateLimit) Leave(time.Duration, *Request, End) {}
