package protection

import (
	"errors"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "slow_start",
		Doc:   "lets in a share that rises from none to all after a start, so that caches can warm up",
		Worse: "when the server is as fast cold as it is warm: it refuses half of what comes in the meantime; and far beyond capacity a small share is too much already, so it needs a bound behind it",
		Knobs: func() any { return &slowStartKnobs{Ramp: 30 * time.Second, Idle: 10 * time.Second} },
		New:   newSlowStart,
	})
}

type slowStartKnobs struct {
	Ramp     time.Duration `yaml:"ramp" doc:"time from the first request after a start to that from which all are let in, a duration above 0"`
	Idle     time.Duration `yaml:"idle" doc:"start again when requests are let in and none is served for this long, so longer than the longest that one takes; a duration above 0; 0 means never"`
	MinShare float64       `yaml:"min_share" doc:"lowest share to let in, from 0 to 1"`
}

// ReasonSlowStart is why slow_start refuses.
const ReasonSlowStart Reason = "slow_start"

// slowStart lets in the share min(1, t/ramp) of the requests, but at least
// min_share, where t is the time since the first request that it was asked about.
// A server that begins, is reset or comes back after a crash has a new one, so t
// is 0 again; while nobody asks nothing warms up, so it does not count.
//
// It starts again when it has let requests in for the time idle and none was
// served: whatever came back is cold too. Only what it lets in counts, so that its
// own refusals are no such gap; should the gap last, it tries again and again, up
// to the share idle/ramp.
//
// The share is exact and evenly spread, not drawn by lot: each request adds the
// share to a sum, and one is let in for each whole in it, so half lets in every
// other request. What comes in a fixed order, such as two classes by turns, can
// thus meet it out of step, but only for a moment, as the share moves on.
// Protected requests are let in, and are no part of the sum.
type slowStart struct {
	ramp, idle time.Duration
	least      float64

	begun   bool
	start   time.Duration
	sum     float64
	unheard bool          // let one in since the last was served
	since   time.Duration // when it was let in
	last    time.Duration
}

func newSlowStart(_ Setup, knobs any) (Protection, error) {
	k := knobs.(*slowStartKnobs)
	var errs []error
	if k.Ramp <= 0 {
		errs = append(errs, plugin.Knob("ramp", k.Ramp, "a duration above 0"))
	}
	if k.Idle < 0 {
		errs = append(errs, plugin.Knob("idle", k.Idle, "a duration above 0, or 0 for never"))
	}
	if !(k.MinShare >= 0 && k.MinShare <= 1) { // not a number fails too
		errs = append(errs, plugin.Knob("min_share", k.MinShare, "a share from 0 to 1"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &slowStart{ramp: k.Ramp, idle: k.Idle, least: k.MinShare}, nil
}

func (s *slowStart) Admit(now time.Duration, r *Request, _ Load) Reason {
	s.last = max(s.last, now)
	if !s.begun || s.idle > 0 && s.unheard && s.last-s.since >= s.idle {
		s.begun, s.start, s.sum, s.unheard = true, s.last, 0, false
	}
	if !r.Protected && !s.lets() {
		return ReasonSlowStart
	}
	if !s.unheard {
		s.unheard, s.since = true, s.last
	}
	return ""
}

// lets adds the share of now to the sum and reports whether that makes a whole.
func (s *slowStart) lets() bool {
	s.sum += min(1, max(s.least, float64(s.last-s.start)/float64(s.ramp)))
	if s.sum < 1 {
		return false
	}
	s.sum--
	return true
}

func (s *slowStart) Leave(_ time.Duration, _ *Request, e End) {
	if e.Outcome == Served {
		s.unheard = false
	}
}
