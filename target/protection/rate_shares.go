package protection

import (
	"maps"
	"slices"
	"time"
)

// rateShares shares one rate out to tenants by weight, with borrowing. Each has a
// bucket into which its share of the tokens flows; what does not fit in, because
// the tenant leaves its tokens unused, flows into the buckets of the others by
// their weights. So nothing is lost while one of them wants it, a tenant that
// returns has its share at once, and more than rate and burst together never
// pass. A bucket holds a share of the burst, but always one token.
type rateShares struct {
	rate    float64
	last    time.Duration // latest instant seen: until then the tokens have flowed
	byName  map[string]int
	buckets []shareBucket // the last is of all tenants that are not in byName
}

type shareBucket struct{ weight, size, tokens float64 }

func newRateShares(perSecond float64, burst int, weights map[string]float64) *rateShares {
	p := &rateShares{rate: perSecond, byName: make(map[string]int, len(weights))}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		p.byName[name] = len(p.buckets)
		p.buckets = append(p.buckets, shareBucket{weight: weights[name]})
	}
	p.buckets = append(p.buckets, shareBucket{weight: 1})
	var sum float64
	for _, b := range p.buckets {
		sum += b.weight
	}
	for i := range p.buckets {
		b := &p.buckets[i]
		b.size = max(1, float64(burst)*b.weight/sum)
		b.tokens = b.size
	}
	return p
}

func (*rateShares) Needs() string { return "the tenant" }

func (p *rateShares) Admit(now time.Duration, r *Request, _ Load) Reason {
	if now > p.last {
		p.pour(p.rate * (now - p.last).Seconds())
		p.last = now
	}
	i, named := p.byName[r.Tenant]
	if !named {
		i = len(p.buckets) - 1
	}
	const rounding = 1e-9 // of sums that should come to 1
	b := &p.buckets[i]
	if b.tokens < 1-rounding {
		return ReasonTenantRate
	}
	b.tokens = max(0, b.tokens-1)
	return ""
}

func (*rateShares) Leave(time.Duration, *Request, End) {}

// pour lets tokens flow into the buckets that have room, until they are used up
// or all buckets are full. Each round but the last fills one at least.
func (p *rateShares) pour(tokens float64) {
	for tokens > 0 {
		var weights float64
		for i := range p.buckets {
			if b := &p.buckets[i]; b.tokens < b.size {
				weights += b.weight
			}
		}
		if weights == 0 {
			return
		}
		var over float64
		for i := range p.buckets {
			b := &p.buckets[i]
			if b.tokens >= b.size {
				continue
			}
			b.tokens += tokens * (b.weight / weights)
			if b.tokens > b.size {
				over += b.tokens - b.size
				b.tokens = b.size
			}
		}
		tokens = over
	}
}
