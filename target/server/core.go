package server

import (
	"fmt"
	"time"

	"knee/target/fault"
	"knee/target/order"
	"knee/target/protection"
)

// Core is a server. It is for one goroutine at a time. Its instants count from
// the start of the run; one that is earlier than the last is taken as the last.
type Core struct {
	spec Spec
	now  time.Duration
	plug plugIns

	faults     []fault.Fault
	faultNext  time.Duration
	batchNext  time.Duration // when the oldest has waited long enough for a batch to fill
	conditions fault.Conditions
	crowded    bool // the pace depends on how many workers are busy
	halted     bool // the process stands still, or goes on and has not seen yet what came meanwhile
	pace       pace

	waiting  line
	held     line // let in by Admit and not yet enqueued
	external line // running outside the core
	expiries expiries
	endings  endings

	endingNext time.Duration // when the first of endings is done; Never when none will be

	nWaiting, nHeld int
	peak            int // of nWaiting
	running, paying int
	emptied         uint64        // how often everything inside was lost
	worked          time.Duration // that began here
	busy            int           // workers that are busy with requests, of which a batch has several
	queuedCost      float64
	lastEmpty       time.Duration // when the queue last was empty; means nothing while it is
	throughput      throughput
	costRate        float64
	debt            debt

	arrived, served, degraded, failed, resets uint64
	refused, dropped, failedBy                tally

	effects, handed []Effect

	treaters  []fault.Treater       // among faults
	treatment fault.Treatment       // of the request that a worker takes
	stuck     []stuck               // work that faults hold up
	outside   []*protection.Request // came during a pause
}

// States of a request in Links.State.
const (
	outside uint8 = iota
	held
	waiting
	running
)

// New returns an empty, healthy server at instant 0. It reports what is wrong
// with s, or with one of its plug-ins.
func New(s Spec) (*Core, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	plug, err := build(s)
	if err != nil {
		return nil, err
	}
	c := &Core{spec: s, faultNext: protection.Never, batchNext: protection.Never, endingNext: protection.Never, pace: pace{factor: 1}}
	c.bend()
	c.begin(plug)
	return c, nil
}

// begin puts plug into service in an empty server.
func (c *Core) begin(plug plugIns) {
	c.plug = plug
	c.throughput = declared(c.spec.each())
	c.costRate = c.throughput.rate(c.conditions.Workers)
	c.debt = newDebt(c.spec, c.conditions.RejectCost)
	c.tick()
}

// Reset refuses everything inside with ReasonReset and starts again at now with
// fresh plug-ins; counts and faults stay. Work that a shell still does for a
// request so refused is of no interest any more: its Finish is ignored. When a
// plug-in cannot be built, nothing is changed.
func (c *Core) Reset(now time.Duration) error {
	plug, err := build(c.spec)
	if err != nil {
		return err
	}
	c.advance(now, true)
	c.empty(c.forget)
	c.begin(plug)
	return nil
}

// empty takes everything out of the server and hands each request to lose.
func (c *Core) empty(lose func(*protection.Request)) {
	for !c.endings.empty() {
		for r := c.endings.pop().r; r != nil; {
			next := r.Links.Next // of a batch
			r.Links.Next = nil
			lose(r)
			r = next
		}
	}
	c.foresee()
	for _, s := range c.stuck {
		for r := s.r; r != nil; {
			next := r.Links.Next
			r.Links.Next = nil
			lose(r)
			r = next
		}
	}
	c.stuck = c.stuck[:0]
	for c.external.oldest != nil {
		r := c.external.oldest
		c.external.remove(r)
		lose(r)
	}
	for c.waiting.oldest != nil {
		r := c.waiting.oldest
		c.takeOut(r)
		c.plug.order.Remove(r)
		lose(r)
	}
	for c.held.oldest != nil {
		r := c.held.oldest
		c.held.remove(r)
		lose(r)
	}
	c.running, c.busy, c.paying, c.nHeld = 0, 0, 0, 0
	c.emptied++
	c.batchNext = protection.Never
}

// forget refuses r, which is in no list any more, because of a reset.
func (c *Core) forget(r *protection.Request) {
	c.resets++
	c.leave(c.now, r, protection.End{Outcome: protection.Dropped, Reason: ReasonReset, Waited: c.now - r.Arrived})
	c.tell(Refuse, c.now, r, ReasonReset)
}

// Advance lets time pass until now.
func (c *Core) Advance(now time.Duration) { c.advance(now, true) }

// Next returns the instant at which the core wants Advance, if nothing happens
// before; Never when it waits for the shell alone.
func (c *Core) Next() time.Duration {
	switch {
	case !c.halted:
		return min(c.endingNext, c.nextWake())
	case c.conditions.Paused:
		return c.faultNext
	}
	return c.now
}

// Effects returns what the shell has to carry out since the last call. The slice
// is valid until the next call of Effects.
func (c *Core) Effects() []Effect {
	e := c.effects
	c.effects, c.handed = c.handed[:0], e
	return e
}

// Counts returns the totals so far.
func (c *Core) Counts() Counts {
	return Counts{
		Arrived:  c.arrived,
		Served:   c.served,
		Degraded: c.degraded,
		Failed:   c.failed,
		FailedBy: c.failedBy.byReason(),
		Refused:  c.refused.byReason(),
		Dropped:  c.dropped.byReason(),
		Resets:   c.resets,
		Peak:     c.peak,
		Worked:   c.worked,
	}
}

// Gauges returns the state at now, without letting time pass.
func (c *Core) Gauges(now time.Duration) Gauges {
	g := Gauges{
		Waiting:  c.nWaiting,
		Running:  c.running,
		Admitted: c.nWaiting + c.nHeld + c.running,
		Outside:  len(c.outside),
		Workers:  c.conditions.Workers,
		CostRate: c.costRate,
		Debt:     c.debt.owed,
	}
	for _, l := range c.plug.limiters {
		if limit := l.Limit(); g.Limit == 0 || limit < g.Limit {
			g.Limit = limit
		}
	}
	if r := c.waiting.oldest; r != nil {
		g.OldestAge = max(0, now-r.Arrived)
	}
	return g
}

// load fills l with what plug-ins may know at now. It fills it in place: what is
// returned would be copied, and to copy what was just written stalls.
func (c *Core) load(now time.Duration, l *protection.Load) {
	l.Waiting = c.nWaiting
	l.Running = c.running
	l.Admitted = c.nWaiting + c.nHeld + c.running
	l.Workers = c.conditions.Workers
	l.QueuedCost = c.queuedCost
	l.CostRate = c.costRate
	if r := c.waiting.oldest; r != nil {
		l.Oldest, l.LastEmpty = r.Arrived, c.lastEmpty
	} else {
		l.Oldest, l.LastEmpty = protection.Never, now
	}
}

// plugIns are the order and the protections of a server, with the optional
// powers of the protections sorted out beforehand.
type plugIns struct {
	order    order.Order
	evictor  order.Evictor // nil when the order is none
	sweeps   bool          // what expires leaves the queue at once
	chain    []link
	pickers  []protection.Picker
	stampers []protection.Stamper
	limiters []protection.Limiter
	tickers  []ticker
	tickNext time.Duration
}

type link struct {
	protection.Protection
	bounds bool // it is a protection.Bounder
}

type ticker struct {
	protection.Ticker
	next time.Duration
}

// build makes the plug-ins of s.
func build(s Spec) (plugIns, error) {
	var p plugIns
	var err error
	if p.order, err = s.Order(); err != nil {
		return plugIns{}, fmt.Errorf("server: order: %w", err)
	}
	p.evictor, _ = p.order.(order.Evictor)
	keeper, keeps := p.order.(order.Keeper)
	p.sweeps = !keeps || keeper.Sweep()
	for i, l := range s.Chain {
		q, err := l.New()
		if err != nil {
			return plugIns{}, fmt.Errorf("server: protections[%d] (%s): %w", i, l.Kind, err)
		}
		_, bounds := q.(protection.Bounder)
		p.chain = append(p.chain, link{q, bounds})
		if x, ok := q.(protection.Picker); ok {
			p.pickers = append(p.pickers, x)
		}
		if x, ok := q.(protection.Stamper); ok {
			p.stampers = append(p.stampers, x)
		}
		if x, ok := q.(protection.Limiter); ok {
			p.limiters = append(p.limiters, x)
		}
		if x, ok := q.(protection.Ticker); ok {
			p.tickers = append(p.tickers, ticker{Ticker: x})
		}
	}
	return p, nil
}
