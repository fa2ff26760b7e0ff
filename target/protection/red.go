package protection

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "red",
		Doc:   "refuses at random, the more the longer the queue is on average (random early detection)",
		Worse: "with callers that do not slow down: its average follows the queue too slowly to keep it short, and refuses still when it is short again",
		Knobs: func() any { return &redKnobs{Weight: 0.002, Min: 5, Max: 15, MaxP: 0.1} },
		New:   newRED,
	})
}

type redKnobs struct {
	Weight float64 `yaml:"weight" doc:"weight of the present queue in its average, above 0, up to 1 (w_q)"`
	Min    float64 `yaml:"min" doc:"average of waiting requests up to which none is refused, at least 0 (min_th)"`
	Max    float64 `yaml:"max" doc:"average from which all are refused, above min (max_th)"`
	MaxP   float64 `yaml:"max_p" doc:"share refused as the average comes to max, above 0, up to 1 (max_p)"`
	Gentle bool    `yaml:"gentle" doc:"from max to twice max, refuse a share that rises from max_p to all, rather than all at once; default false"`
}

// red is random early detection of Floyd and Jacobson, "Random Early Detection
// Gateways for Congestion Avoidance" (1993), with requests for packets and refusal
// for marking. Its knobs have the paper's values; max_p is that of later advice.
// gentle is Floyd's of 2000.
//
// Refusals are spaced evenly rather than drawn one by one: the more have been let
// in since the last, the likelier is the next. While the queue is empty nobody
// asks, so its average then falls as if requests had come in as fast as they are
// served.
type red struct {
	weight, low, high, maxP float64
	gentle                  bool
	service                 float64 // nanoseconds from one request served to the next, with all workers busy
	rand                    *rand.Rand

	average float64
	count   int           // requests since the last refusal; -1: the average was below min
	last    time.Duration // latest instant seen
	left    time.Duration // when a request last left the queue
}

func newRED(s Setup, knobs any) (Protection, error) {
	k := knobs.(*redKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if !(k.Weight > 0 && k.Weight <= 1) { // not a number fails too
		bad("weight", k.Weight, "a share above 0, up to 1")
	}
	if !(k.Min >= 0) {
		bad("min", k.Min, "a number of requests, at least 0")
	} else if !(k.Max > k.Min) {
		bad("max", k.Max, "a number of requests above min")
	}
	if !(k.MaxP > 0 && k.MaxP <= 1) {
		bad("max_p", k.MaxP, "a share above 0, up to 1")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &red{
		weight: k.Weight, low: k.Min, high: k.Max, maxP: k.MaxP, gentle: k.Gentle,
		service: float64(s.Service) / float64(s.Workers), rand: s.Rand, count: -1,
	}, nil
}

func (p *red) Admit(now time.Duration, r *Request, l Load) Reason {
	p.last = max(p.last, now)
	if l.Waiting > 0 {
		p.average += p.weight * (float64(l.Waiting) - p.average)
	} else {
		idle := float64(p.last-p.left) / p.service
		p.average *= math.Pow(1-p.weight, max(1, idle))
		p.left = p.last // that much is booked
	}
	share := p.share()
	if share == 0 {
		p.count = -1
		return ""
	}
	p.count++
	if share < 1 {
		share = spaced(share, p.count)
	}
	if r.Protected || share < 1 && p.rand.Float64() >= share {
		return ""
	}
	p.count = 0
	return ReasonRED
}

// share returns the share to refuse at the present average (p_b).
func (p *red) share() float64 {
	switch {
	case p.average < p.low:
		return 0
	case p.average < p.high:
		return p.maxP * (p.average - p.low) / (p.high - p.low)
	case p.gentle && p.average < 2*p.high:
		return p.maxP + (1-p.maxP)*(p.average-p.high)/p.high
	}
	return 1
}

// spaced returns the probability to refuse after count requests have been let in
// (p_a), of which all together make a share of refusals.
func spaced(share float64, count int) float64 {
	if let := float64(count) * share; let < 1 {
		return min(1, share/(1-let))
	}
	return 1
}

func (p *red) Pick(now time.Duration, _ *Request, _ Load) Reason {
	p.left = max(p.left, now)
	return ""
}

func (p *red) Leave(now time.Duration, _ *Request, e End) {
	if e.Outcome == Dropped {
		p.left = max(p.left, now)
	}
}
