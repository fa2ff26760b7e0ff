package fleet

import (
	"fmt"
	"time"

	"knee/target/server"
)

// A node is one server of a layer.
type node struct {
	Backend
	fleet *Fleet
	layer *layer
	id    int // place in Fleet.nodes
	index int // number in its layer
	core  *server.Core
	dirty bool // it stands in Fleet.dirty

	life    life
	down    bool // it crashed and has not come back
	sick    bool // its health checks failed
	ejected bool

	returns   timer // ends a crash
	booted    timer // ends its start
	readmits  timer // ends an ejection
	health    health
	failures  int      // in a row, of its requests
	handed    callList // asynchronous: what it has handed on to the next layer
	holding   int      // synchronous: requests whose worker waits for the next layer
	busy      time.Duration
	busyAt    time.Duration
	computing int // requests that a worker works on, and does not only wait with
	counts    nodeCounts
}

// A life is where a server stands between its start and its end.
type life uint8

const (
	off     life = iota // not there, or empty and stopped
	booting             // started by the autoscaler and not ready
	on
	draining // taken out of service by the autoscaler; what is inside goes on
)

func (n *node) name() string { return fmt.Sprintf("%s %d", n.layer.Name, n.index) }

// begin puts n into the state of a fleet that starts now.
func (n *node) begin() {
	n.Backend = Backend{node: n}
	n.life, n.down, n.sick, n.ejected = off, false, false, false
	if n.index < n.layer.Servers {
		n.life = on
	}
	n.failures, n.handed, n.holding = 0, callList{place: linkHanded}, 0
	n.busy, n.busyAt, n.computing = 0, n.fleet.now, 0
	for _, t := range []*timer{&n.returns, &n.booted, &n.readmits, &n.health.tick, &n.health.patience} {
		t.place = 0 // it stood in timers that are gone
	}
	n.health.begin(n)
}

// touched notes that the core may have effects.
func (n *node) touched() {
	if !n.dirty {
		n.dirty = true
		n.fleet.dirty = append(n.fleet.dirty, n)
	}
}

// arrive takes c to the server.
func (n *node) arrive(c *call) {
	c.node = n
	c.request.ID = n.fleet.ids
	n.fleet.ids++
	c.request.Arrived = n.fleet.now
	n.core.Arrive(n.fleet.now, &c.request)
	n.touched()
	n.checkLoad()
}

// carryOut does what the core decided since the last call.
func (n *node) carryOut() {
	n.dirty = false
	n.measure()
	effects := n.core.Effects()
	for i := range effects {
		e := &effects[i]
		c := e.R.Shell.(*call)
		switch e.Kind {
		case server.Start:
			c.state = working
			n.fleet.timers.set(&c.timer, e.At+e.Work)
		case server.Refuse:
			n.refused(c, e)
		case server.Reply:
			n.replied(c, e)
		}
	}
	n.fleet.due[n.id] = n.core.Next()
}

// refused takes the core's refusal of c, or its loss.
func (n *node) refused(c *call, e *server.Effect) {
	if n.down && e.Answer.Reason == server.ReasonReset {
		c.abandon()
		n.counts.lost++
		c.answered(failure(KindCrash))
		return
	}
	c.answered(answer{verdict: refused, Answer: e.Answer})
}

// replied goes on with c, which the core is done with.
func (n *node) replied(c *call, e *server.Effect) {
	a := answer{Answer: e.Answer}
	hop := n.layer.next != nil && !c.probe
	switch {
	case hop && n.layer.Hop.Async:
		c.answer = a
		n.handed.add(c)
		c.try()
		return
	case hop:
		a.Degraded = a.Degraded || c.answer.Degraded
	}
	c.answered(a)
}

// measure adds up the time that workers worked, until now. The core changes
// only when something touches it, which this follows.
func (n *node) measure() {
	if n.layer.Scaler.Signal == "" {
		return
	}
	now := n.fleet.now
	n.busy += time.Duration(n.computing) * (now - n.busyAt)
	n.busyAt = now
	n.computing = n.core.Gauges(now).Running - n.holding
}

// open reports whether the balancer may send requests to n, but for its health.
func (n *node) open() bool { return n.life == on && !n.down && !n.ejected }

// reset empties n and gives it fresh plug-ins.
func (n *node) reset() {
	if err := n.core.Reset(n.fleet.now); err != nil {
		panic(fmt.Sprintf("fleet: server %s was built and cannot be built again: %v", n.name(), err))
	}
	n.failures = 0
	n.touched()
}

// idle reports whether nothing is inside.
func (n *node) idle() bool {
	return n.core.Gauges(n.fleet.now).Admitted == 0 && n.handed.first == nil
}
