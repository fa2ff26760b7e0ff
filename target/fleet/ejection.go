package fleet

import (
	"errors"
	"fmt"
	"time"
)

// Ejection takes servers out of service whose requests fail, be it that they
// are rejected, fail or time out: the detection of outliers, as Envoy calls it.
// An ejection always lasts as long; in Envoy each is longer than the last.
type Ejection struct {
	After int           // failures in a row; 0: no ejection
	For   time.Duration // how long a server is out; above 0
	Max   float64       // share of the servers that may be out at once, rounded down; 0 to 1
}

func (e *Ejection) check() error {
	if e.After == 0 {
		return nil
	}
	var errs []error
	if e.After < 0 {
		errs = append(errs, fmt.Errorf("ejection.after is %d: want at least 0", e.After))
	}
	if e.For <= 0 {
		errs = append(errs, fmt.Errorf("ejection.for is %v: want above 0", e.For))
	}
	if !(e.Max >= 0 && e.Max <= 1) {
		errs = append(errs, fmt.Errorf("ejection.max is %v: want a share from 0 to 1", e.Max))
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
