// Package fleet puts servers behind balancers, and layers of them behind one another, in virtual time.
//
// The types, from the outside to the inside:
//
//   - A Fleet takes requests as one server would: Arrive, Advance, Next,
//     Effects. Its callers come through the Pools, if there are any, and then to
//     the balancer of the first layer.
//   - A Layer is a set of servers of the same kind. Each has a server.Core and
//     plug-ins of its own. The layer also has all that keeps watch over them:
//     health checks, the ejection of outliers, crashes, an autoscaler.
//   - A Balancer picks the server for a request from those that are Backends in
//     service: up, healthy, not ejected, started.
//   - A Hop says how a layer calls the next one: how often it tries, how long it
//     waits for each attempt, whether its worker waits with it, and what of the
//     request goes along.
//   - A call is one attempt to have a layer do something: a request of a caller
//     of the fleet, an attempt of the layer above, or a health check.
//
// # Conventions
//
// The network takes no time, except that a refusal may (Layer.RejectTime). At
// one instant servers come first, layer by layer and in the order of their
// numbers, then the fleet's own timers in the order in which they were set, then
// arrivals. So an answer at the very instant of a timeout still counts.
//
// A worker first does its own work and then calls the next layer, once: a layer
// that takes 7 of the 30 that a caller has left calls with 23.
//
// Attempts are counted as max_attempts, the first included: three layers that
// each try 3 times make up to 27 requests of one, and 4 times 64.
//
// A server that is down refuses connections. Its balancer notices that at once,
// before anything was sent, and picks another. A server that hangs is noticed
// by what does not come back: by health checks, by timeouts, by what is
// outstanding.
package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
	"knee/target/server"
)

// A Spec describes a fleet.
type Spec struct {
	Layers []Layer // the first takes the callers' requests and calls the second, and so on; at least one
	Pools  Pools   // how many requests callers may have open; the zero value: any number
	// Rand returns the random stream of one purpose, which depends on the seed
	// and the name alone. A Reset asks again, and so starts the streams anew.
	Rand func(name string) *rand.Rand
	// Notice is told of what happens to servers, as it happens; nil for nobody.
	Notice func(Event)
}

// A Layer describes servers of one kind.
type Layer struct {
	Name     string
	Servers  int                            // in service at the start; at least 1
	Server   func(i int) server.Spec        // describes server i, with plug-ins of its own; its work is internal
	Work     func(*rand.Rand) time.Duration // draws the work of a request; nil in the first layer, whose callers say it
	Balancer func(*rand.Rand) (Balancer, error)

	RejectTime time.Duration // how long a refusal takes until the balancer has it; 0 is at once
	Crash      Crash         // the zero value: never
	Health     Health        // the zero value: no checks
	Ejection   Ejection      // the zero value: none
	Scaler     Scaler        // the zero value: none
	Hop        Hop           // how it calls the next layer; the zero value: one attempt. It means nothing in the last one
}

// check returns what is wrong with s.
func (s *Spec) check() error {
	var errs []error
	if len(s.Layers) == 0 {
		errs = append(errs, errors.New("no layers: want at least one"))
	}
	if s.Rand == nil {
		errs = append(errs, errors.New("no random streams"))
	}
	if s.Pools != (Pools{}) {
		errs = append(errs, within("pools", s.Pools.Check()))
	}
	named := map[string]bool{}
	for i := range s.Layers {
		l := &s.Layers[i]
		if named[l.Name] {
			errs = append(errs, fmt.Errorf("layers[%d].name is %q: want a name that no other layer has", i, l.Name))
		}
		named[l.Name] = true
		errs = append(errs, within(fmt.Sprintf("layers[%d]", i), l.check(i == 0)))
	}
	return within("fleet", errors.Join(errs...))
}

// check returns what is wrong with l.
func (l *Layer) check(first bool) error {
	var errs []error
	if l.Name == "" {
		errs = append(errs, errors.New("it has no name"))
	}
	if l.Servers < 1 || l.Servers > MaxServers {
		errs = append(errs, plugin.Knob("servers", l.Servers, fmt.Sprintf("1 to %d", MaxServers)))
	}
	if l.Server == nil || l.Balancer == nil {
		errs = append(errs, errors.New("it has no servers or no balancer"))
	}
	if l.Work == nil && !first {
		errs = append(errs, errors.New("it has no work"))
	}
	if l.RejectTime < 0 {
		errs = append(errs, plugin.Knob("reject_time", l.RejectTime, "a duration of at least 0"))
	}
	if l.Crash != (Crash{}) {
		errs = append(errs, within("crash", l.Crash.Check()))
	}
	if l.Health != (Health{}) {
		errs = append(errs, within("health", l.Health.Check()))
	}
	if l.Ejection != (Ejection{}) {
		errs = append(errs, within("ejection", l.Ejection.Check()))
	}
	if l.Scaler != (Scaler{}) {
		errs = append(errs, within("autoscaler", l.Scaler.Check(l.Servers)))
	}
	errs = append(errs, within("call", l.Hop.Check()))
	return errors.Join(errs...)
}

// within says where an error is, if there is one.
func within(where string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", where, err)
}

// MaxServers bounds the servers of a layer, those that an autoscaler may add
// included.
const MaxServers = 1000

// A Fleet is servers behind balancers. It is for one goroutine at a time. Its
// instants count from the start of the run; one that is earlier than the last is
// taken as the last.
type Fleet struct {
	spec   Spec
	layers []*layer
	nodes  []*node // of all layers, in order
	pools  *pools  // nil when callers may have any number of requests open

	now     time.Duration
	due     []time.Duration // when each node's core wants to be woken
	dirty   []*node         // nodes whose effects are to be carried out
	falling []*node         // nodes that are over their limit and about to crash
	timers  timers
	calls   calls
	open    callList // calls of the fleet's own callers
	ids     uint64
	door    doorCounts

	effects, handed []server.Effect
}

// New returns a fleet of healthy, empty servers at instant 0. It reports what is
// wrong with s, with a server or with one of their plug-ins.
func New(s Spec) (*Fleet, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	f := &Fleet{spec: s, open: callList{place: linkOpen}}
	f.door.refused = map[protection.Reason]uint64{}
	for i := range s.Layers {
		l, err := f.newLayer(i)
		if err != nil {
			return nil, fmt.Errorf("fleet: layers[%d] (%s): %w", i, s.Layers[i].Name, err)
		}
		if i > 0 {
			f.layers[i-1].next = l
		}
		f.layers = append(f.layers, l)
	}
	if s.Pools.Instances > 0 {
		f.pools = newPools(f, s.Pools)
	}
	if err := f.begin(); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	f.settle()
	return f, nil
}

// begin puts all servers into the state of a fleet that starts now.
func (f *Fleet) begin() error {
	for _, l := range f.layers {
		if err := l.begin(); err != nil {
			return fmt.Errorf("layer %s: %w", l.Name, err)
		}
	}
	return nil
}

// Reset refuses everything inside with server.ReasonReset and starts again at
// now: all servers with fresh plug-ins, up, healthy and as many as at first.
// Counts and faults stay. When a plug-in cannot be built it returns the error;
// servers may then be in part as before.
func (f *Fleet) Reset(now time.Duration) error {
	f.Advance(now)
	for c := f.open.first; c != nil; c = f.open.first {
		f.open.remove(c)
		f.door.resets++
		f.tell(server.Refuse, c.outer, protection.Answer{Reason: server.ReasonReset})
		if c.layer != nil {
			c.layer.counts.gaveUp++
		}
		c.leave()
	}
	for _, n := range f.nodes {
		n.release()
	}
	for _, n := range f.nodes {
		if err := n.core.Reset(f.now); err != nil {
			return fmt.Errorf("fleet: server %s: %w", n.name(), err)
		}
		n.core.Effects() // nobody waits for those any more
		n.dirty = false
	}
	f.dirty, f.falling = f.dirty[:0], f.falling[:0]
	f.timers, f.calls = timers{}, calls{} // what is still referred to there has ended
	if f.pools != nil {
		f.pools.begin()
	}
	if err := f.begin(); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	f.settle()
	return nil
}

// Next returns the instant at which the fleet wants Advance, if nothing happens
// before; protection.Never when it waits for arrivals alone.
func (f *Fleet) Next() time.Duration {
	next := f.timers.next()
	for _, at := range f.due {
		next = min(next, at)
	}
	return next
}

// Advance lets time pass until now.
func (f *Fleet) Advance(now time.Duration) {
	now = min(max(now, f.now), protection.Never-1)
	for {
		next := f.Next()
		if next > now {
			f.now = now
			return
		}
		f.now = max(next, f.now)
		if !f.serve() {
			f.timers.fire()
		}
		f.settle()
	}
}

// serve wakes the servers that want it now, and reports whether one did.
func (f *Fleet) serve() bool {
	any := false
	for i, at := range f.due {
		if at <= f.now {
			any = true
			f.nodes[i].core.Advance(f.now)
			f.nodes[i].touched()
		}
	}
	return any
}

// settle carries out what servers decided, and what follows from it, until
// nothing is left to do at this instant.
func (f *Fleet) settle() {
	for {
		for i := 0; i < len(f.dirty); i++ {
			f.dirty[i].carryOut()
		}
		f.dirty = f.dirty[:0]
		switch {
		case len(f.falling) > 0:
			n := f.falling[0]
			f.falling = slices.Delete(f.falling, 0, 1)
			n.crash()
		case f.pools != nil && len(f.pools.free) > 0:
			f.pools.serve()
		default:
			return
		}
	}
}

// Arrive lets time pass until now and takes in r, which is outside. Its end is
// one of Effects.
func (f *Fleet) Arrive(now time.Duration, r *protection.Request) {
	f.Advance(now)
	f.door.arrived++
	c := f.calls.take(f)
	c.outer = r
	f.open.add(c)
	c.request = protection.Request{
		Client: r.Client, Class: r.Class, Criticality: r.Criticality, Tenant: r.Tenant, Cost: r.Cost, Bytes: r.Bytes,
		Attempt: r.Attempt, Protected: r.Protected, Work: r.Work, Deadline: r.Deadline, Shell: c,
	}
	if f.pools == nil || f.pools.enter(c) {
		f.layers[0].offer(c)
	}
	f.settle()
}

// Effects returns how requests ended since the last call. The slice is valid
// until the next call of Effects.
func (f *Fleet) Effects() []server.Effect {
	e := f.effects
	f.effects, f.handed = f.handed[:0], e
	return e
}

// tell adds the effect that answers the caller of r.
func (f *Fleet) tell(kind server.EffectKind, r *protection.Request, a protection.Answer) {
	f.effects = append(f.effects, server.Effect{Kind: kind, R: r, At: f.now, Answer: a})
}
