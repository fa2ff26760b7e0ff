package fleet

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// Ejection takes servers out of service whose requests fail, be it that they
// are rejected, fail or time out: the detection of outliers, as Envoy calls it.
// An ejection always lasts as long; in Envoy each is longer than the last.
type Ejection struct {
	After int           `yaml:"after" doc:"failures and rejections in a row that put a server out of service, at least 1; default 5"`
	For   time.Duration `yaml:"for" doc:"how long it is out, above 0; default 10s"`
	Max   float64       `yaml:"max" doc:"share of the servers that may be out at once, rounded down, 0 to 1; default 0.5"`
}

// DefaultEjection returns the defaults. Those of Envoy are 5, 30s and 0.1.
func DefaultEjection() Ejection { return Ejection{After: 5, For: 10 * time.Second, Max: 0.5} }

// Check returns a *plugin.KnobError for each field out of range, joined. It is
// asked of servers that are ejected only.
func (e *Ejection) Check() error {
	var errs []error
	if e.After < 1 {
		errs = append(errs, plugin.Knob("after", e.After, "at least 1"))
	}
	if e.For <= 0 {
		errs = append(errs, plugin.Knob("for", e.For, "a duration above 0"))
	}
	if !(e.Max >= 0 && e.Max <= 1) {
		errs = append(errs, plugin.Knob("max", e.Max, "a share from 0 to 1"))
	}
	return errors.Join(errs...)
}

// noteOutcome takes what became of a request at n and ejects n when it was one
// failure too many. At the bound on ejections n stays, and its next failure asks again.
func (n *node) noteOutcome(good bool) {
	e := &n.layer.Ejection
	if e.After == 0 || n.ejected {
		return
	}
	if good {
		n.failures = 0
		return
	}
	n.failures++
	if n.failures < e.After || n.life != on {
		return
	}
	there, out := 0, 0
	for _, o := range n.layer.nodes {
		if o.life == on {
			there++
			if o.ejected {
				out++
			}
		}
	}
	if float64(out+1) > e.Max*float64(there) {
		return
	}
	n.ejected, n.failures = true, 0
	n.counts.ejections++
	n.fleet.timers.set(&n.readmits, n.fleet.now+e.For)
	n.fleet.notice(n, Ejected)
	n.layer.refresh()
}

// readmit ends an ejection.
func (n *node) readmit() {
	n.ejected = false
	n.fleet.notice(n, Readmitted)
	n.layer.refresh()
}
