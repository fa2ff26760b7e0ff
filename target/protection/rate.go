package protection

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "rate",
		Doc:   "lets in a fixed number of requests per second (token bucket), for all, for each tenant, or shared out between tenants",
		Worse: "whenever the server is slower or the requests dearer than the rate assumes: it knows nothing of the queue",
		Knobs: func() any { return new(rateKnobs) },
		New:   newRate,
	})
}

type rateKnobs struct {
	Rate        float64            `yaml:"rate" doc:"requests per second of all; above 0; this or tenant_rate must be set; 0 means none"`
	Burst       int                `yaml:"burst" doc:"requests let in at once after a quiet time; at least 1; 0 means a tenth of a second of the rate, at least 1"`
	TenantRate  float64            `yaml:"tenant_rate" doc:"requests per second of each tenant, those without a tenant being one; above 0; together they may exceed rate; 0 means none"`
	TenantBurst int                `yaml:"tenant_burst" doc:"as burst, of tenant_rate"`
	Tenants     map[string]float64 `yaml:"tenants" doc:"share rate and burst out to these tenants by weight, all others together having weight 1; what one leaves unused goes to the others; weights from 1e-6 to 1e6; not with tenant_rate"`
}

func newRate(_ Setup, knobs any) (Protection, error) {
	k := knobs.(*rateKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	perSecond := func(knob string, is float64) {
		if !(is >= 0) || math.IsInf(is, 1) { // not a number fails too
			bad(knob, is, "requests per second, above 0")
		}
	}
	perSecond("rate", k.Rate)
	perSecond("tenant_rate", k.TenantRate)
	if k.Rate == 0 && (k.TenantRate == 0 || len(k.Tenants) > 0) {
		bad("rate", "not set", "requests per second, above 0")
	}
	if k.Burst < 0 {
		bad("burst", k.Burst, "a number of requests, at least 1")
	}
	if k.TenantBurst < 0 {
		bad("tenant_burst", k.TenantBurst, "a number of requests, at least 1")
	}
	if k.TenantRate > 0 && len(k.Tenants) > 0 {
		bad("tenant_rate", k.TenantRate, "none beside tenants")
	}
	for _, name := range slices.Sorted(maps.Keys(k.Tenants)) {
		if w := k.Tenants[name]; !(w >= 1e-6 && w <= 1e6) {
			bad("tenants."+name, w, "a weight from 1e-6 to 1e6")
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	switch {
	case len(k.Tenants) > 0:
		return newRateShares(k.Rate, burstOf(k.Rate, k.Burst), k.Tenants), nil
	case k.TenantRate > 0:
		p := &tenantRate{rate: k.TenantRate, burst: burstOf(k.TenantRate, k.TenantBurst), tenants: map[string]*rate.Limiter{}}
		if k.Rate > 0 {
			p.all = newBucket(k.Rate, burstOf(k.Rate, k.Burst))
		}
		return p, nil
	}
	return &rateLimit{bucket: newBucket(k.Rate, burstOf(k.Rate, k.Burst))}, nil
}

// burstOf returns a burst, or its default when it is 0.
func burstOf(perSecond float64, burst int) int {
	if burst > 0 {
		return burst
	}
	return int(min(max(1, perSecond/10), math.MaxInt32))
}

// newBucket returns a token bucket that is full. GCRA, the generic cell rate
// algorithm, lets in the same with an emission interval of 1/perSecond; what its
// implementations call burst is mostly the one less, that beside the first.
func newBucket(perSecond float64, burst int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), burst)
}

// runClock is the clock of the run as the limiter wants it. A limiter mints
// tokens when it is called with an earlier time than before (golang/go#56287),
// hence last.
type runClock struct{ last time.Duration }

func (c *runClock) at(now time.Duration) time.Time {
	c.last = max(c.last, now)
	return time.Unix(0, 0).Add(c.last)
}

// rateLimit is the token bucket of golang.org/x/time/rate on the clock of the run.
type rateLimit struct {
	clock  runClock
	bucket *rate.Limiter
}

func (p *rateLimit) Admit(now time.Duration, _ *Request, _ Load) Reason {
	if !p.bucket.AllowN(p.clock.at(now), 1) {
		return ReasonRate
	}
	return ""
}

func (*rateLimit) Leave(time.Duration, *Request, End) {}

// tenantRate has a bucket for each tenant that it has seen; the server bounds how
// many those are. A request that the bucket of all refuses costs its tenant nothing.
type tenantRate struct {
	clock   runClock
	all     *rate.Limiter // nil: no bound
	rate    float64
	burst   int
	tenants map[string]*rate.Limiter
}

func (*tenantRate) Needs() string { return "the tenant" }

func (p *tenantRate) Admit(now time.Duration, r *Request, _ Load) Reason {
	at := p.clock.at(now)
	if p.all != nil && p.all.TokensAt(at) < 1 {
		return ReasonRate
	}
	own, ok := p.tenants[r.Tenant]
	if !ok {
		own = newBucket(p.rate, p.burst)
		p.tenants[r.Tenant] = own
	}
	if !own.AllowN(at, 1) {
		return ReasonTenantRate
	}
	if p.all != nil {
		p.all.AllowN(at, 1)
	}
	return ""
}

func (*tenantRate) Leave(time.Duration, *Request, End) {}
