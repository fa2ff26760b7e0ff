package fleet

import (
	"fmt"
	"math/rand/v2"

	"knee/target/server"
)

// A layer is a Layer in use.
type layer struct {
	*Layer
	fleet    *Fleet
	next     *layer // that it calls; nil of the last one
	nodes    []*node
	balancer Balancer
	rand     *rand.Rand // of the work that it is asked for
	crashes  *rand.Rand // of how long restarts take
	service  []server.Spec

	inService []*Backend // what the balancer picks from
	scaler    scaler
	counts    layerCounts
}

// newLayer returns layer i, whose servers are all that it may come to have.
func (f *Fleet) newLayer(i int) (*layer, error) {
	l := &layer{Layer: &f.spec.Layers[i], fleet: f}
	l.counts.least = l.Servers
	last := i == len(f.spec.Layers)-1
	for k := range max(l.Servers, l.Scaler.Max) {
		spec := l.Server(k)
		spec.External = !last && !l.Hop.Async
		core, err := server.New(spec)
		if err != nil {
			return nil, fmt.Errorf("server %d: %w", k, err)
		}
		n := &node{fleet: f, layer: l, id: len(f.nodes), index: k, core: core}
		n.booted.do, n.readmits.do = n.start, n.readmit
		n.health.tick.do, n.health.patience.do = n.probe, n.probeTimedOut
		l.nodes = append(l.nodes, n)
		l.service = append(l.service, spec)
		f.nodes = append(f.nodes, n)
		f.due = append(f.due, core.Next())
	}
	l.scaler.timer.do = l.scale
	return l, nil
}

// begin puts the layer into the state of a fleet that starts now.
func (l *layer) begin() error {
	b, err := l.Balancer(l.fleet.spec.Rand(l.Name + ".balancer"))
	if err != nil {
		return fmt.Errorf("balancer: %w", err)
	}
	l.balancer = b
	l.rand = l.fleet.spec.Rand(l.Name + ".work")
	l.crashes = l.fleet.spec.Rand(l.Name + ".crash")
	for _, n := range l.nodes {
		if err := n.begin(); err != nil {
			return err
		}
	}
	l.scaler.begin(l)
	l.refresh()
	return nil
}

// refresh finds the servers in service anew, after one has changed.
func (l *layer) refresh() {
	healthy, open := 0, 0
	for _, n := range l.nodes {
		if n.open() {
			open++
			if !n.sick {
				healthy++
			}
		}
	}
	panics := float64(healthy) < l.Health.Panic*float64(open)
	l.inService = l.inService[:0]
	for _, n := range l.nodes {
		if n.open() && (!n.sick || panics) {
			l.inService = append(l.inService, &n.Backend)
		}
	}
	l.counts.least = min(l.counts.least, len(l.inService))
}

// offer has the balancer find a server for c.
func (l *layer) offer(c *call) {
	c.layer, c.sent, c.state = l, l.fleet.now, inside
	l.counts.attempts++
	if c.request.Attempt <= 1 {
		l.counts.requests++
	}
	if len(l.inService) == 0 {
		l.counts.noServer++
		c.answered(refusal(ReasonNoServer))
		return
	}
	n := l.balancer.Pick(l.fleet.now, l.inService).node
	n.Outstanding++
	c.counted = true
	n.arrive(c)
}
