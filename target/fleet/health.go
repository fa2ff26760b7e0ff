package fleet

import (
	"errors"
	"fmt"
	"time"

	"knee/target/protection"
)

// Health says how a balancer checks its servers: it sends each a request of its
// own and takes those out of service that do not answer it. The checks go
// through the server's queue and protections like any request, and take a
// worker's time.
type Health struct {
	Interval       time.Duration // between two checks of a server; 0: none
	Timeout        time.Duration // of a check; above 0, up to Interval
	UnhealthyAfter int           // failed checks in a row that take a server out of service; at least 1
	HealthyAfter   int           // checks in a row that bring it back; at least 1
	Work           time.Duration // that a check asks of a worker
	Protected      bool          // protections that shed by load let checks in
	// Panic is the share of healthy servers below which health is ignored, as so
	// many cannot be sick (Envoy's panic threshold, there 0.5 by default); 0: never.
	Panic float64
}

func (h *Health) check() error {
	if h.Interval == 0 {
		return nil
	}
	var errs []error
	if h.Interval < 0 {
		errs = append(errs, fmt.Errorf("health.interval is %v: want at least 0", h.Interval))
	}
	if h.Timeout <= 0 || h.Timeout > h.Interval {
		errs = append(errs, fmt.Errorf("health.timeout is %v: want above 0, up to the interval, %v", h.Timeout, h.Interval))
	}
	if h.UnhealthyAfter < 1 || h.HealthyAfter < 1 {
		errs = append(errs, fmt.Errorf("health.unhealthy_after is %d and healthy_after %d: want at least 1", h.UnhealthyAfter, h.HealthyAfter))
	}
	if h.Work < 0 {
		errs = append(errs, fmt.Errorf("health.work is %v: want at least 0", h.Work))
	}
	if !(h.Panic >= 0 && h.Panic <= 1) {
		errs = append(errs, fmt.Errorf("health.panic is %v: want a share from 0 to 1", h.Panic))
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
