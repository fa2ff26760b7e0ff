package client

import (
	"errors"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

// ReasonThrottle says that a caller did not send as too little of what it sent was
// accepted of late.
const ReasonThrottle = "throttle"

func init() {
	Registry.Register(plugin.Info[NewBehaviour]{
		Name:  "throttle",
		Doc:   "keeps a share of the attempts from being sent as the server accepts fewer (adaptive throttling, as Google's clients do)",
		Worse: "after a short spike, with a long window or a small k: it goes on refusing what the server could take long since",
		Knobs: func() any {
			return &throttleKnobs{K: 2, Window: 2 * time.Minute, CountLocal: true, Per: perClient}
		},
		New: newThrottle,
	})
}

type throttleKnobs struct {
	K          float64       `yaml:"k" doc:"attempts for each accepted one from which on some are kept back, 1 to 1000; below 1.5 callers may keep themselves from ever recovering, and at 1 they do"`
	Window     time.Duration `yaml:"window" doc:"how long an attempt counts, 1ms to 1h; one much longer than a spike does nothing in it"`
	CountLocal bool          `yaml:"count_local" doc:"attempts kept back count as attempts; with false k is not held: at a load L of which A are accepted, the square root of L × k × A is sent instead of k × A"`
	Per        string        `yaml:"per" doc:"whose state it is: client (every caller has its own) or all (one for the whole population)"`
}

// throttleSlots is how finely the window slides.
const throttleSlots = 60

// throttle keeps attempts back by chance, by a Throttle for each caller. What
// was accepted is what succeeded; attempts of which nothing can be said, as they
// were cancelled or kept back further inside, do not count.
type throttle struct {
	rand       *rand.Rand
	countLocal bool
	states     states[Throttle]
}

func newThrottle(s Setup, knobs any) (Behaviour, error) {
	k := *knobs.(*throttleKnobs)
	var errs []error
	if !(k.K >= 1 && k.K <= 1000) {
		errs = append(errs, plugin.Knob("k", k.K, "1 to 1000; below 1 callers would refuse more and more of a load that all is accepted of"))
	}
	if k.Window < time.Millisecond || k.Window > time.Hour {
		errs = append(errs, plugin.Knob("window", k.Window, "1ms to 1h"))
	}
	if err := errors.Join(append(errs, checkPer(k.Per))...); err != nil {
		return nil, err
	}
	fresh := func() *Throttle { return NewThrottle(k.K, k.Window, throttleSlots) }
	return &throttle{s.Rand, k.CountLocal, newStates(s, k.Per, fresh)}, nil
}

func (t *throttle) Before(now time.Duration, a *Attempt) (time.Duration, string) {
	s := t.states.get(a)
	p := s.Share(now)
	keep := p > 0 && t.rand.Float64() < p
	if !keep || t.countLocal {
		s.Request(now)
	}
	if keep {
		return now, ReasonThrottle
	}
	return now, ""
}

func (t *throttle) After(now time.Duration, a *Attempt, e Answer) time.Duration {
	switch s := t.states.get(a); e.Result {
	case OK:
		s.Accept(now)
	case NotSent, Withheld, Cancelled:
		s.requests.add(now, -1)
	}
	return never
}

// A Throttle is the state of adaptive throttling: how many requests were made and
// how many were accepted within a window. It is "Site Reliability Engineering"
// (2016), chapter 21.
type Throttle struct {
	k                 float64
	requests, accepts slots
}

// NewThrottle returns a throttle that has seen nothing. The window slides by a
// part of so many.
func NewThrottle(k float64, window time.Duration, parts int) *Throttle {
	return &Throttle{k, newSlots(window, parts), newSlots(window, parts)}
}

// Share returns which share of the requests to keep back.
func (t *Throttle) Share(now time.Duration) float64 {
	return ThrottleShare(t.k, t.requests.sum(now), t.accepts.sum(now))
}

// Request counts a request, be it sent or kept back.
func (t *Throttle) Request(now time.Duration) { t.requests.add(now, 1) }

// Accept counts a request that was accepted.
func (t *Throttle) Accept(now time.Duration) { t.accepts.add(now, 1) }

// ThrottleShare returns which share of the requests to keep back after so many
// requests and accepts: max(0, (requests - k × accepts) / (requests + 1)).
func ThrottleShare(k float64, requests, accepts int64) float64 {
	return max(0, (float64(requests)-k*float64(accepts))/float64(requests+1))
}
