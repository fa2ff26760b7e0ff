// Package virtual runs plans against the server core in virtual time: no
// sockets, no waiting, the same client and the same server as in a live run.
//
// The network takes no time. At one instant the server comes first (ends of
// work, changes, wake-ups), then the client's timers, then arrivals.
package virtual

import (
	"context"
	"errors"
	"fmt"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
	"knee/target/server"
)

// Options describe a virtual run.
type Options struct {
	Server   server.Spec    // its work is internal
	Target   Target         // takes the requests in place of a Server; nil for that
	Client   client.Options // its classes also say what their requests look like to the server
	Recorder *record.Recorder
	// Fail breaks the transport of an attempt; nil breaks none. It is called once
	// for each attempt, as it is sent.
	Fail func(*client.Attempt) Failure
	// Observe is told during Runs, at the end of each record.Window, of the state of
	// the one server, after all that has happened by then; nil: nobody is. It may do
	// what a cue may do.
	Observe func(record.Gauge)
}

// A Driver owns one server and one population, and the clock they share. It is
// used by one goroutine.
type Driver struct {
	classes    []plan.Class
	server     *server.Core // nil when there is a target
	target     Target
	earlier    server.Counts // of servers that this one took the place of
	population *client.Population
	recorder   *record.Recorder
	fail       func(*client.Attempt) Failure

	observe func(record.Gauge)

	now    time.Duration
	start  time.Duration // of the plan offered last
	end    time.Duration // of the plan under way
	cues   []plan.Cue    // of the next Run, or of this one and not carried out yet
	sent   uint64        // requests that reached the server
	broken []*call       // whose transport broke as they were sent
	calls  calls
}

// New returns a driver at instant 0. It returns an error when the server or the
// client cannot be built.
func New(o Options) (*Driver, error) {
	core, err := o.core()
	if err != nil {
		return nil, fmt.Errorf("virtual: %w", err)
	}
	population, err := client.New(o.Client, o.Recorder)
	if err != nil {
		return nil, fmt.Errorf("virtual: %w", err)
	}
	return &Driver{
		classes:    o.Client.Classes,
		server:     core,
		target:     o.Target,
		population: population,
		recorder:   o.Recorder,
		fail:       o.Fail,
		observe:    o.Observe,
	}, nil
}

// core returns the one server of o, nil when o has a Target.
func (o *Options) core() (*server.Core, error) {
	switch {
	case o.Target != nil:
		return nil, nil
	case o.Server.External:
		return nil, errors.New("the server's work is external: want internal, there is nobody else to do it")
	}
	return server.New(o.Server)
}

// Now returns the instant up to which the run has come.
func (d *Driver) Now() time.Duration { return d.now }

// Counts returns what the servers, or the target, counted since New.
func (d *Driver) Counts() server.Counts { return d.counts().Plus(d.earlier) }

// Reset puts the server back to its start: what is inside is refused with
// reason reset, and its plug-ins begin anew. It returns the error of a plug-in
// that cannot be built; then nothing has changed.
func (d *Driver) Reset(context.Context) error {
	if err := d.restart(); err != nil {
		return fmt.Errorf("virtual: %w", err)
	}
	d.serve()
	return nil
}

// Turn has another server take the place of the one server, between Runs. It returns
// an error when that cannot be built; then nothing has changed.
func (d *Driver) Turn(to server.Spec) error {
	core, err := (&Options{Server: to}).core()
	if err != nil {
		return fmt.Errorf("virtual: %w", err)
	}
	if err := d.Reset(context.Background()); err != nil {
		return err
	}
	core.Advance(d.now)
	d.earlier = d.Counts()
	d.server, d.target = core, nil
	return nil
}

// Close ends the use of the driver. It holds nothing that needs closing.
func (d *Driver) Close() error { return nil }

// patrol is how many instants pass between two looks at the context.
const patrol = 256

// Run offers p from now on, as part of a trial of the run, and returns when its
// time is over, every arrival has ended and the records are flushed. When ctx
// is done no further arrivals come; Run waits for the open ones, which the end
// of their timeout and grace bounds, and returns the cause.
func (d *Driver) Run(ctx context.Context, trial int, p *plan.Plan) error {
	d.offer(p, func(start time.Duration) { d.population.Offer(p, trial, start) })
	return d.perform(ctx, trial, func(time.Duration) *plan.Plan { return nil })
}

// RunClosed does as Run with the arrivals of p, which has one step, in a closed loop
// of n callers; see client.Population.OfferClosed.
func (d *Driver) RunClosed(ctx context.Context, trial int, p *plan.Plan, n int) error {
	d.offer(p, func(start time.Duration) { d.population.OfferClosed(p, trial, start, n) })
	return d.perform(ctx, trial, func(time.Duration) *plan.Plan { return nil })
}

// Perform does as Run with one plan after another and no gap between them: next
// is asked for the first, and at the end of each for the one that begins there;
// nil ends the load. By then the records of the windows before are complete but
// for what is open.
func (d *Driver) Perform(ctx context.Context, trial int, _ float64, next func(now time.Duration) *plan.Plan) error {
	first := next(record.NextWindow(d.now))
	if first == nil {
		return nil
	}
	d.offer(first, func(start time.Duration) { d.population.Offer(first, trial, start) })
	return d.perform(ctx, trial, next)
}

// offer has the population begin with p in the next window.
func (d *Driver) offer(p *plan.Plan, begin func(start time.Duration)) {
	d.start = record.NextWindow(d.now)
	d.end = d.start + p.Duration()
	begin(d.start)
}

// Cut ends the plan under way with the present record.Window. It may be called by
// what a Run calls.
func (d *Driver) Cut() {
	if at := record.NextWindow(d.now); at < d.end {
		d.population.Cut(at)
		d.end = at
	}
}

// perform carries out what was offered and what follows it.
func (d *Driver) perform(ctx context.Context, trial int, follow func(time.Duration) *plan.Plan) error {
	start := d.start
	look := protection.Never
	if d.observe != nil && d.server != nil {
		look = start + record.Window
	}
	var stopped error
	for i := 0; ; i++ {
		if i%patrol == 0 && stopped == nil && ctx.Err() != nil {
			stopped = context.Cause(ctx)
			d.population.Stop(d.now)
			d.end, d.cues, follow = d.now, nil, nil
		}
		server, population := d.next(), d.population.Next()
		next := min(server, population)
		cue := d.nextCue(start)
		switch {
		case look < min(next, cue) && (follow != nil || look <= d.end):
			d.now = max(d.now, look)
			d.look()
			look += record.Window
		case cue != protection.Never && cue <= next:
			d.stepCue(cue)
		case follow != nil && next >= d.end && !d.population.Offering():
			d.now = max(d.now, d.end)
			d.recorder.Tick(d.now)
			if p := follow(d.end); p != nil {
				start, d.end = d.end, d.end+p.Duration()
				d.population.Offer(p, trial, start)
			} else {
				follow = nil
			}
		case d.over(next, d.end):
			d.cues = nil
			d.now = max(d.now, d.end)
			d.recorder.Flush(d.now)
			return stopped
		case server <= population:
			d.stepServer(server)
		default:
			d.stepPopulation(max(d.now, population)) // a caller who has just been answered sends at once
		}
	}
}

// look tells Options.Observe of the state of the server.
func (d *Driver) look() {
	g := d.server.Gauges(d.now)
	d.observe(record.Gauge{
		At: d.now, Waiting: g.Waiting, Running: g.Running, Workers: g.Workers, Oldest: g.OldestAge, Limit: g.Limit,
	})
	d.serve()
}

// over reports whether a plan that lasts until end has nothing left to do at
// next and later.
func (d *Driver) over(next, end time.Duration) bool {
	return next >= end && d.population.Open() == 0 && !d.population.Offering()
}

// stepServer handles one instant of the server.
func (d *Driver) stepServer(now time.Duration) {
	d.now = now
	if d.target != nil {
		d.target.Advance(now)
	} else {
		d.server.Advance(now)
	}
	d.serve()
}

// stepPopulation handles one instant of the population. It hears of answers when
// all that it wanted is done: one of them may change its mind about the rest.
func (d *Driver) stepPopulation(now time.Duration) {
	d.now = now
	for _, e := range d.population.Advance(now) {
		switch e.Kind {
		case client.Send:
			d.send(e.Attempt)
		case client.Cancel:
			hangUp(e.Attempt)
		}
	}
	if len(d.broken) > 0 {
		d.breakOff()
	}
	d.serve()
}

// hangUp makes nobody wait for an attempt any more; the server works on.
func hangUp(a *client.Attempt) { a.Shell.(*call).attempt = nil }

// answer tells the population what became of an attempt.
func (d *Driver) answer(a *client.Attempt, with *client.Answer) {
	for _, e := range d.population.Answer(d.now, a, *with) {
		hangUp(e.Attempt)
	}
}

// send takes an attempt to the server, or as far as its transport lets it.
func (d *Driver) send(a *client.Attempt) {
	c := d.calls.take()
	c.attempt = a
	a.Shell = c
	if d.fail != nil {
		c.failure = d.fail(a)
		if c.failure.Where == Sending {
			d.broken = append(d.broken, c)
			return
		}
	}
	class := &d.classes[a.Arrival.Class]
	c.request.ID = d.sent
	c.request.Client = a.Arrival.Client
	c.request.Class = a.Arrival.Class
	c.request.Criticality = protection.Criticality(class.Criticality)
	c.request.Tenant = class.Tenant
	c.request.Cost = class.Cost
	c.request.Bytes = class.Bytes
	c.request.Attempt = a.Number
	c.request.Protected = class.Protected
	c.request.Work = a.Arrival.Work
	c.request.Arrived = d.now
	c.request.Deadline = min(a.Timeout, a.Deadline)
	d.sent++
	if d.target != nil {
		d.target.Arrive(d.now, &c.request)
	} else {
		d.server.Arrive(d.now, &c.request)
	}
}

// breakOff answers the attempts whose transport broke as they were sent.
func (d *Driver) breakOff() {
	for _, c := range d.broken {
		if c.attempt != nil {
			d.answer(c.attempt, &c.failure.Answer)
		}
		d.calls.give(c)
	}
	d.broken = d.broken[:0]
}

// serve passes on what the server decided.
func (d *Driver) serve() {
	effects := d.effects()
	var answer client.Answer // filled in place: to copy what was just written stalls
	for i := range effects {
		e := &effects[i]
		c := e.R.Shell.(*call)
		if c.attempt != nil {
			c.outcome(e, d.target == nil, &answer)
			d.answer(c.attempt, &answer)
		}
		d.calls.give(c)
	}
}
