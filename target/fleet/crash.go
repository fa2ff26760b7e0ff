package fleet

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// A Crash says when servers break down by themselves. What is inside is lost,
// and the server comes back empty, with fresh plug-ins.
type Crash struct {
	AtQueue int           `yaml:"at_queue" doc:"requests that a server can hold waiting, such as fit into its memory; one more crashes it; at least 1"`
	Restart time.Duration `yaml:"restart_after,omitempty" doc:"how long a crashed server takes to come back; default 0: it does not"`
}

// Check returns a *plugin.KnobError for each field out of range, joined. It is
// asked of servers that crash only.
func (c *Crash) Check() error {
	var errs []error
	if c.AtQueue < 1 {
		errs = append(errs, plugin.Knob("at_queue", c.AtQueue, "at least 1"))
	}
	if c.Restart < 0 {
		errs = append(errs, plugin.Knob("restart_after", c.Restart, "a duration of at least 0"))
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
