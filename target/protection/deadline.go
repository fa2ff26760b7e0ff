package protection

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "deadline",
		Doc:   "drops a request from the queue when too little time is left to serve it before its deadline",
		Worse: "alone: all that waits has nearly reached its deadline by the time it is served, so the wait is as long as callers allow; and an allowance that is too short serves it too late",
		Knobs: func() any {
			return &deadlineKnobs{Allowance: "p95"}
		},
		New: newDeadline,
	})
}

type deadlineKnobs struct {
	Allowance string        `yaml:"allowance" doc:"time kept for serving: a duration, mean, or a quantile of measured service times from p1 to p99.9; under overload the share of requests served in time is the share that takes no longer than this"`
	Slack     time.Duration `yaml:"slack" doc:"time kept for the way back, a duration of at least 0, added to the allowance"`
	Admit     bool          `yaml:"admit" doc:"also refuse at arrival when the wait ahead, at the rate measured, leaves too little; assumes that the queue is served in the order of arrival"`
}

// probeEvery is how many requests the estimate may turn away for each one that
// is served in spite of it. An estimate that is too high would otherwise turn
// all away, get no samples and never fall.
const probeEvery = 100

// deadline drops a request iff now + allowance + slack > deadline, and at the
// deadline itself when both are 0. It looks when the request leaves the queue,
// and the core sweeps what is certainly too late.
//
// With an estimated allowance, one request in probeEvery passes, and so does
// every request that has the server for itself: nobody loses by its being tried.
// Finagle's DeadlineFilter guards against the same lock by turning away a fifth
// of all at most, which is too little beyond 1.25 times capacity. Until the first
// samples the allowance is the declared mean.
type deadline struct {
	fixed    time.Duration // allowance when measured is nil
	measured *serviceTime
	slack    time.Duration
	admit    bool

	turned int      // turned away by the estimate since the last probe
	probe  *Request // let in as a probe and not yet gone
}

func newDeadline(s Setup, knobs any) (Protection, error) {
	k := knobs.(*deadlineKnobs)
	d := &deadline{slack: k.Slack, admit: k.Admit}
	var errs []error
	if fixed, quantile, ok := parseAllowance(k.Allowance); !ok {
		errs = append(errs, plugin.Knob("allowance", strconv.Quote(k.Allowance), "a duration of at least 0, mean, or p1 to p99.9"))
	} else if fixed >= 0 {
		d.fixed = fixed
	} else {
		d.measured = newServiceTime(quantile, s.Service)
	}
	if k.Slack < 0 {
		errs = append(errs, plugin.Knob("slack", k.Slack, "a duration of at least 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return d, nil
}

// parseAllowance returns a fixed allowance, or -1 and the quantile to measure
// (0 for the mean).
func parseAllowance(s string) (fixed time.Duration, quantile float64, ok bool) {
	if s == "mean" {
		return -1, 0, true
	}
	if p, isQuantile := strings.CutPrefix(s, "p"); isQuantile {
		percent, err := strconv.ParseFloat(p, 64)
		return -1, percent / 100, err == nil && percent >= 1 && percent <= 99.9
	}
	fixed, err := time.ParseDuration(s)
	return fixed, 0, err == nil && fixed >= 0
}

func (d *deadline) Admit(now time.Duration, r *Request, l Load) Reason {
	if r.Deadline == Never {
		return ""
	}
	sure := d.slack // of the time kept, what does not depend on an estimate
	if d.measured == nil {
		sure += d.fixed
	}
	end := lastStart(r.Deadline, sure)
	if now > end {
		return ReasonExpired
	}
	r.ExpireAt(end+1, ReasonExpired)
	if d.admit && d.hopeless(now, r, l) && !d.spare(r, l) {
		return ReasonHopeless
	}
	return ""
}

// hopeless reports whether the wait ahead of r leaves too little time.
func (d *deadline) hopeless(now time.Duration, r *Request, l Load) bool {
	if l.QueuedCost <= 0 {
		return now > lastStart(r.Deadline, d.keep())
	}
	left := lastStart(r.Deadline, d.keep()) - now
	return l.QueuedCost > l.CostRate*left.Seconds()
}

func (d *deadline) Pick(now time.Duration, r *Request, l Load) Reason {
	if r.Deadline == Never || now <= lastStart(r.Deadline, d.keep()) {
		return ""
	}
	if now < r.Deadline && d.spare(r, l) {
		return ""
	}
	return ReasonExpired
}

// keep returns the time to keep between start and deadline.
func (d *deadline) keep() time.Duration {
	if d.measured != nil {
		return d.measured.estimate + d.slack
	}
	return d.fixed + d.slack
}

// lastStart returns the last instant at which a request may start that needs
// keep until its deadline. At the deadline itself it is always too late.
func lastStart(deadline, keep time.Duration) time.Duration {
	return deadline - max(keep, 1)
}

// spare reports whether r, which the estimate would turn away, is served all the
// same: because nothing else is there to serve, or as a probe.
func (d *deadline) spare(r *Request, l Load) bool {
	switch {
	case d.measured == nil:
		return false
	case d.probe == r || l.Admitted == 0:
		return true
	case d.probe == nil && d.turned >= probeEvery-1:
		d.probe, d.turned = r, 0
		return true
	}
	d.turned++
	return false
}

func (d *deadline) Leave(now time.Duration, r *Request, e End) {
	if d.probe == r {
		d.probe = nil
	}
	if d.measured != nil && e.Outcome == Served {
		d.measured.add(now, e.Served)
	}
}
