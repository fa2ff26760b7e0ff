package fleet

import (
	"errors"
	"fmt"
	"time"

	"knee/target/plugin"
)

// Pools are the connections of the callers. Callers run in Instances processes,
// client c in instance c mod Instances, and each instance has Connections. A
// request needs one from when it is sent until it is answered; until one is free
// it waits at its instance, in the order of arrival, where no protection of a
// server sees it. A caller that times out does not give back its connection
// before the answer has come.
type Pools struct {
	Instances   int           `yaml:"instances" doc:"processes in which callers run, 1 to 1000000; there is no default"`
	Connections int           `yaml:"connections" doc:"of each instance, 1 to 1000000; there is no default"`
	Queue       int           `yaml:"queue,omitempty" doc:"requests that may wait for a connection at an instance; default 0: any number"`
	Wait        time.Duration `yaml:"wait,omitempty" doc:"how long a request waits for a connection; default 0: until its deadline"`
}

// maxPools bounds the fields of Pools.
const maxPools = 1_000_000

// Check returns a *plugin.KnobError for each field out of range, joined. It is
// asked of callers with pools only.
func (p *Pools) Check() error {
	var errs []error
	if p.Instances < 1 || p.Instances > maxPools {
		errs = append(errs, plugin.Knob("instances", p.Instances, fmt.Sprintf("a number from 1 to %d", maxPools)))
	}
	if p.Connections < 1 || p.Connections > maxPools {
		errs = append(errs, plugin.Knob("connections", p.Connections, fmt.Sprintf("a number from 1 to %d", maxPools)))
	}
	if p.Queue < 0 {
		errs = append(errs, plugin.Knob("queue", p.Queue, "at least 0"))
	}
	if p.Wait < 0 {
		errs = append(errs, plugin.Knob("wait", p.Wait, "a duration of at least 0"))
	}
	return errors.Join(errs...)
}

// pools are the Pools of a fleet.
type pools struct {
	spec   Pools
	fleet  *Fleet
	each   []pool
	free   []*pool // that have a connection for someone who waits
	busy   int     // connections in use
	queued int     // requests that wait for one
	counts poolCounts
}

// A pool is the connections of one instance.
type pool struct {
	all         *pools
	busy        int
	queued      int
	first, last *call // that wait, oldest first
}

func newPools(f *Fleet, s Pools) *pools {
	p := &pools{spec: s, fleet: f}
	p.begin()
	return p
}

// begin empties the pools.
func (p *pools) begin() {
	p.each = make([]pool, p.spec.Instances)
	for i := range p.each {
		p.each[i].all = p
	}
	p.free, p.busy, p.queued = p.free[:0], 0, 0
}

// enter gives c a connection and reports whether there was one. Otherwise c
// waits, or has ended.
func (p *pools) enter(c *call) bool {
	own := &p.each[int(c.request.Client)%len(p.each)]
	if own.busy < p.spec.Connections {
		own.take(c)
		return true
	}
	if p.spec.Queue > 0 && own.queued >= p.spec.Queue {
		p.counts.full++
		c.deliver(refusal(ReasonPoolFull))
		return false
	}
	until := c.request.Deadline
	if p.spec.Wait > 0 {
		until = min(until, p.fleet.now+p.spec.Wait)
	}
	c.pool, c.state = own, pooled
	p.fleet.timers.set(&c.timer, until)
	if own.last != nil {
		own.last.behind = c
	} else {
		own.first = c
	}
	own.last = c
	own.queued++
	p.queued++
	p.counts.waited++
	p.counts.peakWaiting = max(p.counts.peakWaiting, p.queued)
	return false
}

// take gives c one of the connections, which is free.
func (p *pool) take(c *call) {
	c.pool = p
	p.busy++
	p.all.busy++
	p.all.counts.peakOpen = max(p.all.counts.peakOpen, p.all.busy)
}

// leave takes back a connection.
func (p *pool) leave() {
	p.busy--
	p.all.busy--
	p.all.free = append(p.all.free, p)
}

// serve sends who has waited longest, wherever a connection is free.
func (p *pools) serve() {
	for i := 0; i < len(p.free); i++ {
		own := p.free[i]
		c := own.first
		if c == nil || own.busy == p.spec.Connections {
			continue
		}
		own.unlist(nil, c)
		own.take(c)
		p.fleet.timers.stop(&c.timer)
		p.fleet.layers[0].offer(c)
	}
	p.free = p.free[:0]
}

// giveUp ends c, which has waited for a connection as long as it may.
func (p *pool) giveUp(c *call) {
	var before *call
	for x := p.first; x != c; x = x.behind {
		before = x
	}
	p.unlist(before, c)
	p.all.counts.timedOut++
	c.pool = nil
	c.deliver(refusal(ReasonPoolTimeout))
}

// unlist takes c, which stands behind before, out of those that wait.
func (p *pool) unlist(before, c *call) {
	if before != nil {
		before.behind = c.behind
	} else {
		p.first = c.behind
	}
	if p.last == c {
		p.last = before
	}
	c.behind = nil
	p.queued--
	p.all.queued--
}
