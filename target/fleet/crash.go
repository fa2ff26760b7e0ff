package fleet

import (
	"errors"
	"time"

	"knee/target/fault"
	"knee/target/plugin"
	"knee/target/protection"
	"knee/target/server"
)

// A Crash says when servers break down by themselves. What is inside is lost,
// and the server comes back empty, with fresh plug-ins.
type Crash struct {
	AtQueue int           `yaml:"at_queue" doc:"requests that a server can hold waiting, such as fit into its memory; one more crashes it; at least 1"`
	Restart time.Duration `yaml:"restart_after,omitempty" doc:"how long a crashed server takes to come back; default 0: it does not"`
	Spread  float64       `yaml:"spread,omitempty" doc:"how much shorter or longer each restart may take, at random, as a share of restart_after; 0 to 1; default 0"`
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
	if !(c.Spread >= 0 && c.Spread <= 1) {
		errs = append(errs, plugin.Knob("spread", c.Spread, "a share from 0 to 1"))
	}
	return errors.Join(errs...)
}

// breakdown is the fault of a server that broke down by itself.
type breakdown struct{ until time.Duration }

func (b *breakdown) Bend(now time.Duration, c *fault.Conditions) time.Duration {
	c.Crashes++
	if now >= b.until {
		return protection.Never
	}
	c.Down = true
	return b.until
}

// checkLoad finds out whether more waits than n can stand. The crash comes when
// all else that happens at this instant has happened: nothing may come between
// the core's forgetting and the ends of the calls.
func (n *node) checkLoad() {
	c := &n.layer.Crash
	if c.AtQueue == 0 || n.broken != nil || n.core.Gauges(n.fleet.now).Waiting <= c.AtQueue {
		return
	}
	n.broken = &breakdown{until: protection.Never}
	if c.Restart > 0 {
		takes := float64(c.Restart)
		if c.Spread > 0 {
			takes *= 1 + c.Spread*(2*n.layer.crashes.Float64()-1)
		}
		n.broken.until = n.fleet.now + time.Duration(takes)
	}
	n.fleet.falling = append(n.fleet.falling, n)
}

// crash breaks n down.
func (n *node) crash() {
	n.core.Inject(n.fleet.now, n.broken)
	n.carryOut()
}

// watch finds out whether n has gone down, by itself or by a fault, or has come
// back.
func (n *node) watch() {
	down := n.core.Down()
	if down == n.down {
		return
	}
	n.down = down
	if down {
		n.counts.crashes++
		n.fleet.notice(n, Crashed)
		n.lose()
	} else {
		if n.broken != nil {
			n.core.Lift(n.fleet.now, n.broken)
			n.broken = nil
		}
		n.fleet.notice(n, Restarted)
	}
	n.layer.refresh()
}

// lose ends what n has handed on to the next layer, and forgets what it has
// learned of that.
func (n *node) lose() {
	n.failures, n.holding = 0, 0
	if n.caller != nil {
		n.caller.abandon()
		n.employ()
	}
	for c := n.handed.first; c != nil; c = n.handed.first {
		n.handed.remove(c)
		n.counts.lost++
		c.answered(failure(server.ReasonCrash))
	}
}
