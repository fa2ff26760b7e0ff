package fleet

import (
	"errors"
	"fmt"
	"time"
)

// A Crash says when servers break down by themselves. What is inside is lost,
// and the server comes back empty, with fresh plug-ins.
type Crash struct {
	AtQueue int           // requests that wait at once, as many as fit into memory; one more crashes it; 0: never
	Restart time.Duration // how long it takes to come back; 0: it does not
}

func (c *Crash) check() error {
	var errs []error
	if c.AtQueue < 0 {
		errs = append(errs, fmt.Errorf("crash.at_queue is %d: want at least 0", c.AtQueue))
	}
	if c.Restart < 0 {
		errs = append(errs, fmt.Errorf("crash.restart_after is %v: want at least 0", c.Restart))
	}
	return errors.Join(errs...)
}

// checkLoad finds out whether more waits than n can stand.
func (n *node) checkLoad() {
	if most := n.layer.Crash.AtQueue; most > 0 && !n.down && n.core.Gauges(n.fleet.now).Waiting > most {
		n.down = true
		n.fleet.falling = append(n.fleet.falling, n)
	}
}

// crash ends everything inside n, which is down from now on. Nothing else may
// happen between the core's forgetting and the ends of the calls.
func (n *node) crash() {
	f := n.fleet
	n.counts.crashes++
	f.notice(n, Crashed)
	n.layer.refresh()
	n.reset()
	n.carryOut()
	for c := n.handed.first; c != nil; c = n.handed.first {
		n.handed.remove(c)
		c.abandon()
		n.counts.lost++
		c.answered(failure(KindCrash))
	}
	if n.layer.Crash.Restart > 0 {
		f.timers.set(&n.returns, f.now+n.layer.Crash.Restart)
	}
}

// restart ends a crash.
func (n *node) restart() {
	n.down = false
	n.reset()
	n.fleet.notice(n, Restarted)
	n.layer.refresh()
}
