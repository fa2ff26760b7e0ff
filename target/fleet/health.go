package fleet

import (
	"errors"
	"fmt"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// Health says how a balancer checks its servers: it sends each a request of its
// own and takes those out of service that do not answer it. The checks go
// through the server's queue and protections like any request, and take a
// worker's time.
type Health struct {
	Interval       time.Duration `yaml:"interval" doc:"between two checks of a server, above 0; default 1s"`
	Timeout        time.Duration `yaml:"timeout" doc:"of a check, above 0, up to the interval; default 500ms"`
	UnhealthyAfter int           `yaml:"unhealthy_after" doc:"failed checks in a row that take a server out of service, at least 1; default 3"`
	HealthyAfter   int           `yaml:"healthy_after" doc:"good checks in a row that bring it back, at least 1; default 2"`
	Work           time.Duration `yaml:"work" doc:"service time that a check asks of a worker; default 1ms"`
	Protected      bool          `yaml:"protected" doc:"checks are marked as protected, so that what sheds by load lets them in; default false"`
	Panic          float64       `yaml:"panic" doc:"share of healthy servers below which health is ignored, 0 to 1 (in Envoy 0.5); default 0: never"`
}

// DefaultHealth returns the defaults.
func DefaultHealth() Health {
	return Health{Interval: time.Second, Timeout: 500 * time.Millisecond, UnhealthyAfter: 3, HealthyAfter: 2, Work: time.Millisecond}
}

// Check returns a *plugin.KnobError for each field out of range, joined. It is
// asked of servers that are checked only.
func (h *Health) Check() error {
	var errs []error
	if h.Interval <= 0 {
		errs = append(errs, plugin.Knob("interval", h.Interval, "a duration above 0"))
	}
	if h.Timeout <= 0 || h.Timeout > h.Interval {
		errs = append(errs, plugin.Knob("timeout", h.Timeout, fmt.Sprintf("a duration above 0, up to the interval, %v", h.Interval)))
	}
	if h.UnhealthyAfter < 1 {
		errs = append(errs, plugin.Knob("unhealthy_after", h.UnhealthyAfter, "at least 1"))
	}
	if h.HealthyAfter < 1 {
		errs = append(errs, plugin.Knob("healthy_after", h.HealthyAfter, "at least 1"))
	}
	if h.Work < 0 {
		errs = append(errs, plugin.Knob("work", h.Work, "a duration of at least 0"))
	}
	if !(h.Panic >= 0 && h.Panic <= 1) {
		errs = append(errs, plugin.Knob("panic", h.Panic, "a share from 0 to 1"))
	}
	return errors.Join(errs...)
}

// health is what the checks of one server came to.
type health struct {
	tick     timer // next check
	patience timer // ends the check that is open
	open     *call
	row      int // checks in a row that contradict the present state
}

// begin starts the checks of n. Those of the servers of a layer are spread over
// the interval.
func (h *health) begin(n *node) {
	h.open, h.row = nil, 0
	every := n.layer.Health.Interval
	if every > 0 {
		n.fleet.timers.set(&h.tick, n.fleet.now+every*time.Duration(n.index+1)/time.Duration(len(n.layer.nodes)))
	}
}

// probe sends n a health check.
func (n *node) probe() {
	f, h := n.fleet, &n.layer.Health
	f.timers.set(&n.health.tick, f.now+h.Interval)
	if n.life != on {
		return
	}
	n.counts.checks++
	if n.down {
		n.checked(false)
		return
	}
	c := f.calls.take(f)
	c.layer, c.check, c.probe, c.sent = n.layer, n, true, f.now
	c.request = protection.Request{
		Criticality: protection.Critical, Cost: 1, Protected: h.Protected,
		Work: h.Work, Deadline: f.now + h.Timeout, Shell: c,
	}
	n.health.open = c
	f.timers.set(&n.health.patience, f.now+h.Timeout)
	n.arrive(c)
}

// probeTimedOut gives up the check that is open.
func (n *node) probeTimedOut() {
	n.health.open.leave()
	n.checked(false)
}

// checked takes the result of a health check.
func (n *node) checked(good bool) {
	h := &n.layer.Health
	n.fleet.timers.stop(&n.health.patience)
	n.health.open = nil
	if !good {
		n.counts.failedChecks++
	}
	if good != n.sick { // as before
		n.health.row = 0
		return
	}
	n.health.row++
	switch {
	case n.sick && n.health.row >= h.HealthyAfter:
		n.sick = false
		n.fleet.notice(n, Healthy)
	case !n.sick && n.health.row >= h.UnhealthyAfter:
		n.sick = true
		n.fleet.notice(n, Unhealthy)
	default:
		return
	}
	n.health.row = 0
	n.layer.refresh()
}
