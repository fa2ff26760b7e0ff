package fleet

import (
	"fmt"
	"time"

	"knee/target/protection"
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
	down    bool // nobody answers
	sick    bool // its health checks failed
	ejected bool
	broken  *breakdown // the fault with which it broke down by itself; nil when it has not

	caller    *caller // of the next layer; nil in the last one
	booted    timer   // ends its start
	readmits  timer   // ends an ejection
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
func (n *node) begin() error {
	n.Backend = Backend{node: n}
	n.life, n.sick, n.ejected = off, false, false
	if n.index < n.layer.Servers {
		n.life = on
	}
	if n.broken != nil {
		n.core.Lift(n.fleet.now, n.broken)
		n.broken = nil
	}
	n.down = n.core.Down()
	n.failures, n.handed, n.holding = 0, callList{place: linkHanded}, 0
	n.busy, n.busyAt, n.computing = 0, n.fleet.now, 0
	for _, t := range []*timer{&n.booted, &n.readmits, &n.health.tick, &n.health.patience} {
		t.place = 0 // it stood in timers that are gone
	}
	n.health.begin(n)
	n.touched()
	return n.employ()
}

// release makes n wait for nothing any more.
func (n *node) release() {
	if n.caller != nil {
		n.caller.abandon()
	}
	if n.health.open != nil {
		n.health.open.leave()
	}
}

// employ makes n's caller, where there is a layer to call.
func (n *node) employ() error {
	if n.layer.next == nil {
		return nil
	}
	k, err := newCaller(n)
	if err != nil {
		return fmt.Errorf("server %d: %w", n.index, err)
	}
	n.caller = k
	return nil
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
	n.watch()
	effects := n.core.Effects()
	for i := range effects {
		e := &effects[i]
		c := e.R.Shell.(*call)
		a := answer{Answer: e.Answer}
		switch e.Kind {
		case server.Start:
			c.state = working
			n.fleet.timers.set(&c.timer, e.At+e.Work)
			continue
		case server.Reply:
			n.replied(c, a)
			continue
		case server.Refuse:
			a.verdict = refused
		case server.Fail:
			a.verdict = failed
		case server.Sever:
			a.verdict = failed
			n.severed(c, e.Answer.Reason)
		}
		c.answered(a)
	}
	n.fleet.due[n.id] = n.core.Next()
}

// severed stops what goes on for c, which the core has lost.
func (n *node) severed(c *call, why protection.Reason) {
	if why == server.ReasonCrash && c.state == calling { // it may be up again already
		n.lose()
	}
	n.fleet.timers.stop(&c.timer)
}

// replied goes on with c, which the core is done with.
func (n *node) replied(c *call, a answer) {
	if n.caller == nil || c.probe {
		c.answered(a)
		return
	}
	if n.layer.Hop.Async {
		c.answer = a
		n.handed.add(c)
		c.handOn()
		return
	}
	a.Degraded = a.Degraded || c.answer.Degraded
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
