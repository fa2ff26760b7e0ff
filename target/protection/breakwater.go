package protection

import (
	"errors"
	"strconv"
	"time"

	"knee/target/plugin"
)

// ReasonBreakwater is why breakwater refuses: the wait is twice the target.
const ReasonBreakwater Reason = "breakwater"

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "breakwater",
		Doc:   "grants credits to callers in its answers, as many in all as keep the wait at a target, and refuses at twice the target (Breakwater)",
		Worse: "with callers that do not obey credits: it is a bound on the wait of twice the target then; with those that do, without a deadline behind it: they send what they held back until it was too late; and with more callers than credits, as each of them has one",
		Knobs: func() any {
			return &breakwaterKnobs{
				Target: 40 * time.Millisecond, Delay: signalWait, Interval: 10 * time.Millisecond,
				Increase: 0.01, Decrease: 0.02, MaxCredits: 64, Idle: 10 * time.Second,
			}
		},
		New: newBreakwater,
	})
}

type breakwaterKnobs struct {
	Target     time.Duration `yaml:"target" doc:"wait to hold, a duration above 0; requests are refused while it is twice as long (paper: 80µs with work of 10µs)"`
	Delay      string        `yaml:"delay" doc:"what the wait is: wait (cost in the queue at the rate measured) or age (of the oldest in the queue, as in the paper)"`
	Interval   time.Duration `yaml:"interval" doc:"time between two adjustments of the credits, at least 1ms (paper: the round trip, 10µs)"`
	Increase   float64       `yaml:"increase" doc:"credits to add for each known client while the wait is below target, above 0, up to 1 (paper: 0.001)"`
	Decrease   float64       `yaml:"decrease" doc:"share of the credits to take away for each target that the wait is above it, above 0, up to 1; half at most"`
	MaxCredits int           `yaml:"max_credits" doc:"credits that one client may have, at least 1"`
	Idle       time.Duration `yaml:"idle" doc:"time after which a client that was not heard of is forgotten, and its credits are free, at least 1s"`
}

// breakwater is the server of Cho et al., "Overload Control for µs-scale RPCs with
// Breakwater" (OSDI 2020), with the constants of the caladan repository and its
// microseconds made milliseconds. A credit allows a client one open request. The
// pool of credits changes at each interval, with d for the wait and t for target:
//
//	d >= t: pool = int(pool · max(1 - decrease · (d-t)/t, 1/2))
//	d < t:  pool = pool + increase · clients, whole ones only, the rest is carried
//
// from the number of workers to max_credits for each client. Each answer tells its
// client how many it has now. While there are free ones, that is the requests it
// has open, with the one just answered, and on top of them its part of the free
// ones, at least one (over-commitment); while there are too many, one less than before.
//
// It differs in this: a server here speaks only when it answers, so callers do not
// say how much they would like to send, and the credit that the paper would push
// to a caller without any is never taken from it: each keeps one.
//
// The two delays differ in who notices what when; see loadSignal. Protected
// requests are let in however long the wait, and count.
type breakwater struct {
	signal             loadSignal // load 1 is the target
	interval, idle     time.Duration
	increase, decrease float64
	most               int // credits of one client
	workers            int

	pool    int
	used    int // credits that clients have
	carry   float64
	clients grantees
	last    time.Duration
}

// dropAt is the wait from which all are refused, in targets.
const dropAt = 2

func newBreakwater(s Setup, knobs any) (Protection, error) {
	k := knobs.(*breakwaterKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.Target <= 0 {
		bad("target", k.Target, "a duration above 0")
	}
	if k.Delay != signalWait && k.Delay != signalAge {
		bad("delay", strconv.Quote(k.Delay), "wait or age")
	}
	if k.Interval < time.Millisecond {
		bad("interval", k.Interval, "a duration of at least 1ms")
	}
	if !(k.Increase > 0 && k.Increase <= 1) { // not a number fails too
		bad("increase", k.Increase, "a number of credits above 0, up to 1")
	}
	if !(k.Decrease > 0 && k.Decrease <= 1) {
		bad("decrease", k.Decrease, "a share above 0, up to 1")
	}
	if k.MaxCredits < 1 {
		bad("max_credits", k.MaxCredits, "a number of credits, at least 1")
	}
	if k.Idle < time.Second {
		bad("idle", k.Idle, "a duration of at least 1s")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &breakwater{
		signal:   loadSignal{kind: k.Delay, setpoint: k.Target.Seconds()},
		interval: k.Interval, idle: k.Idle, increase: k.Increase, decrease: k.Decrease,
		most: k.MaxCredits, workers: s.Workers, pool: s.Workers,
		clients: grantees{by: map[uint32]*grantee{}},
	}, nil
}

// Needs implements Knower.
func (*breakwater) Needs() string { return "the client" }

// Limit implements Limiter: the credits that there are.
func (b *breakwater) Limit() int { return b.pool }

func (b *breakwater) Admit(now time.Duration, r *Request, l Load) Reason {
	b.last = max(b.last, now)
	g := b.hear(r.Client)
	if !r.Protected && b.signal.at(b.last, &l) >= dropAt {
		return ReasonBreakwater
	}
	g.open++
	return ""
}

func (b *breakwater) Leave(_ time.Duration, r *Request, _ End) {
	if g := b.clients.by[r.Client]; g != nil && g.open > 0 {
		g.open--
	}
}

// Stamp implements Stamper.
func (b *breakwater) Stamp(now time.Duration, r *Request, a *Answer) {
	b.last = max(b.last, now)
	g := b.hear(r.Client)
	b.grant(g)
	a.Granted, a.Credits = true, g.credits
}

// Tick implements Ticker.
func (b *breakwater) Tick(now time.Duration, l Load) time.Duration {
	b.last = max(b.last, now)
	for g := b.clients.oldest; g != nil && b.last-g.heard >= b.idle; g = b.clients.oldest {
		b.forget(g)
	}
	b.adjust(b.signal.at(b.last, &l))
	return b.last + b.interval
}

// adjust changes the pool at a wait of so many targets.
func (b *breakwater) adjust(wait float64) {
	clients := len(b.clients.by)
	if wait >= 1 {
		b.pool = int(float64(b.pool) * max(1-b.decrease*(wait-1), 0.5))
	} else {
		b.carry += b.increase * float64(clients)
		whole := int(b.carry)
		b.carry -= float64(whole)
		b.pool += whole
	}
	b.pool = max(b.workers, min(b.pool, clients*b.most))
}

// grant changes the credits of g.
func (b *breakwater) grant(g *grantee) {
	credits := g.credits
	switch free := b.pool - b.used; {
	case free > 0:
		part := max(1, free/len(b.clients.by))
		credits = min(g.open+1+part, credits+free)
	case free < 0:
		credits--
	}
	credits = min(max(1, credits), b.most)
	b.used += credits - g.credits
	g.credits = credits
}

// hear returns what is known of a client that has just been heard of.
func (b *breakwater) hear(client uint32) *grantee {
	g := b.clients.by[client]
	if g == nil {
		if len(b.clients.by) == maxGrantees {
			b.forget(b.clients.oldest)
		}
		g = b.clients.add(client)
		g.credits = 1
		b.used++
	}
	b.clients.renew(g, b.last)
	return g
}

func (b *breakwater) forget(g *grantee) {
	b.used -= g.credits
	b.clients.remove(g)
}
