// Package live runs plans against a real server: open-loop sending over sockets, on the wall clock.
//
// One goroutine, the loop, owns the population and the recorder. It sleeps until
// the population wants to be advanced or answers have come in, so the schedule
// is a function of time alone and a slow server never slows it. A transport
// carries the requests and gives them back when they are over.
//
// With Options.Coarse set it uses the clock of package time and nothing else,
// and runs under testing/synctest as it does outside.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"knee/generator/client"
	"knee/generator/host"
	"knee/generator/plan"
	"knee/generator/record"
)

// Options describe a live run.
type Options struct {
	Target   *Target   // the server
	Requests []Request // what is sent; none: one GET of the target's path
	// Order returns which of Requests an arrival brings, by its number in the plan,
	// from 0; nil: one after the other, and from the start again.
	Order    func(seq uint64) int
	Client   client.Options   // MaxInFlight is best taken from AutoInFlight
	Recorder *record.Recorder // used by the goroutine that calls Run
	Rules    Rules            // which answers are successes and rejections; zero: by status
	HTTP     HTTP             // how connections are opened and used
	Routes   *Routes          // where they go, for one driver; nil: made from HTTP
	Knee     bool             // the server is ours: tell it class, client, work and time left in Knee headers
	Reset    func(context.Context) error
	// Coarse waits with the timers of package time alone. They fire up to a
	// millisecond late on an idle machine, but cost the least CPU and follow a fake
	// clock. Otherwise the last stretch before each instant is slept in the kernel,
	// where the platform allows it.
	Coarse bool
	Engine Engine // what carries the requests; default Auto
	// Tick is how far apart the instants are at which the loop wakes to send what is
	// due; 0, the default, is at each request's own, and the largest is 100ms. The
	// coarser, the less CPU a request takes, and the later it is sent: lag is up to a
	// tick, and shown.
	Tick time.Duration
	// Observe is told during Runs, once in each record.Window, what this process
	// takes of the machine, by a goroutine of its own; nil: nobody is.
	Observe func(record.Reading)
}

// longestTick is the coarsest tick.
const longestTick = 100 * time.Millisecond

// slack is how long after the last instant at which anything can end the hard
// limit of a Run comes.
const slack = time.Second

// A Driver sends the load of plans to one server. Schedule, Run, Reset, Warm and
// Close are called by one goroutine at a time; Now and Stats by any.
type Driver struct {
	options    Options
	started    time.Time
	population *client.Population
	recorder   *record.Recorder
	engine     Engine
	transport  transport
	routes     *Routes
	order      func(seq uint64) int // Options.Order
	reset      func(context.Context) error
	every      time.Duration // Options.Tick
	patience   time.Duration // longest that an original can stay open after its arrival
	batch      []*call       // that are over
	calls      calls
	reasons    reasons
	cues       []plan.Cue    // of the next Run
	cut        atomic.Bool   // the plan under way is to end
	last       time.Duration // last instant that the population was told
	usage      usage
	notice     func(record.Reading) // Options.Observe
	// descriptors are those that this process had open as the driver began.
	descriptors int
}

// New returns a driver whose clock starts now. It opens no connection. It
// returns an error for options outside their range.
func New(o Options) (*Driver, error) {
	if o.Target == nil {
		return nil, errors.New("live: no target: want a server to send to")
	}
	if o.Tick < 0 || o.Tick > longestTick {
		return nil, fmt.Errorf("live: tick is %v: want 0 to %v", o.Tick, longestTick)
	}
	population, err := client.New(o.Client, o.Recorder)
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	d := &Driver{
		options:    o,
		started:    time.Now(),
		population: population,
		recorder:   o.Recorder,
		reset:      o.Reset,
		every:      o.Tick,
		patience:   patience(o.Client),
		order:      o.Order,
		notice:     o.Observe,
	}
	if d.order == nil {
		n := uint64(max(1, len(o.Requests)))
		d.order = func(seq uint64) int { return int(seq % n) }
	}
	if d.notice != nil {
		d.descriptors = host.OpenDescriptors()
	}
	if o.Routes == nil {
		if o.Routes, err = NewRoutes(o.HTTP, o.targets()...); err != nil {
			return nil, fmt.Errorf("live: %w", err)
		}
	}
	d.routes = o.Routes
	d.routes.lookUp(context.Background())
	d.engine, d.transport, err = newTransport(o, d.Now)
	if err != nil {
		d.routes.close()
		return nil, fmt.Errorf("live: %w", err)
	}
	return d, nil
}

// targets returns the servers that o names.
func (o *Options) targets() []*Target {
	all := []*Target{o.Target}
	for _, r := range o.Requests {
		if r.Target != nil {
			all = append(all, r.Target)
		}
	}
	return all
}

// secure reports whether a server wants TLS.
func (o *Options) secure() bool {
	return slices.ContainsFunc(o.targets(), func(t *Target) bool { return t.scheme == "https" })
}

// patience returns the longest that an original can stay open.
func patience(o client.Options) time.Duration {
	var longest time.Duration
	for _, c := range o.Classes {
		longest = max(longest, c.Timeout, c.Deadline)
	}
	return longest + o.Grace + slack
}

// Now returns the time since New.
func (d *Driver) Now() time.Duration { return time.Since(d.started) }

// Engine returns what carries the requests: never Auto.
func (d *Driver) Engine() Engine { return d.engine }

// Warm opens n connections and keeps them for the requests to come, so that the
// first of them do not pay for connecting. It sends no request and counts none.
// It returns the first error; the connections opened until then are kept.
func (d *Driver) Warm(ctx context.Context, n int) error {
	if err := d.transport.warm(ctx, n); err != nil {
		return fmt.Errorf("live: opening %d connections: %w", n, err)
	}
	return nil
}

// Reset puts the server back to its start, by Options.Reset. Connections stay
// open. It returns an error when the server cannot be reset.
func (d *Driver) Reset(ctx context.Context) error {
	if d.reset == nil {
		return errors.New("live: this server cannot be reset: only one of our own, with its control endpoint, can")
	}
	if err := d.reset(ctx); err != nil {
		return fmt.Errorf("live: resetting the server: %w", err)
	}
	return nil
}

// Turn has the driver send to another server from now on, between Runs, over
// connections of its own: those to the one before are closed. Requests that name a
// server of their own go on to go there. It returns an error when the engine
// cannot reach it so; then the driver has no server and can only be closed.
func (d *Driver) Turn(to *Target) error {
	d.transport.close()
	d.routes.close()
	o := d.options
	o.Target = to
	var err error
	if o.Routes, err = NewRoutes(o.HTTP, o.targets()...); err != nil {
		return fmt.Errorf("live: %w", err)
	}
	o.Routes.lookUp(context.Background())
	_, t, err := newTransport(o, d.Now)
	if err != nil {
		o.Routes.close()
		return fmt.Errorf("live: %w", err)
	}
	d.routes, d.transport = o.Routes, t
	return nil
}

// Close hangs up on what is still open and waits until no connection and no
// goroutine of the driver is left.
func (d *Driver) Close() error {
	d.transport.close()
	d.routes.close()
	return nil
}

// Run offers p from the next record.Window on, as part of a trial of the run,
// and returns when its time is over, every arrival has ended and the records are flushed. When ctx
// is done no further arrivals come; Run waits for the open ones and returns the
// cause.
//
// Run returns at the latest one second after the last arrival could have ended:
// the end of the plan (or of ctx), plus the longest timeout or deadline, plus
// the grace. What is open then ends unfinished. It waits longer only for a cue
// that has not returned.
func (d *Driver) Run(ctx context.Context, trial int, p *plan.Plan) error {
	return d.run(ctx, load{first: p, peak: peak(p), offer: func(p *plan.Plan, start time.Duration) { d.population.Offer(p, trial, start) }})
}

// RunClosed does as Run with the arrivals of p, which has one step, in a closed
// loop of n callers; see client.Population.OfferClosed.
func (d *Driver) RunClosed(ctx context.Context, trial int, p *plan.Plan, n int) error {
	return d.run(ctx, load{first: p, peak: plan.MaxRate, offer: func(p *plan.Plan, start time.Duration) { d.population.OfferClosed(p, trial, start, n) }})
}

// Perform does as Run with one plan after another and no gap between them: next
// is asked for the first, and at the end of each for the one that begins there;
// nil ends the load. It is called by the goroutine that sends, and must be quick:
// what is due meanwhile is late. highest is the highest rate of them all, in
// requests per second. Cues are for the first plan.
func (d *Driver) Perform(ctx context.Context, trial int, highest float64, next func(now time.Duration) *plan.Plan) error {
	first := next(record.NextWindow(d.advanceClock()))
	if first == nil {
		return nil
	}
	return d.run(ctx, load{first: first, peak: highest, follow: next, offer: func(p *plan.Plan, start time.Duration) { d.population.Offer(p, trial, start) }})
}

// Cut ends the plan under way with the present record.Window. Any goroutine may
// call it; between Runs it does nothing.
func (d *Driver) Cut() {
	d.cut.Store(true)
	d.transport.wake()
}

// load is what a run offers.
type load struct {
	first  *plan.Plan
	peak   float64                                    // highest rate
	offer  func(p *plan.Plan, start time.Duration)    // gives a plan to the population
	follow func(now time.Duration) (after *plan.Plan) // the plan that begins at now; nil: there is but the first
}

// run carries out a load.
func (d *Driver) run(ctx context.Context, l load) error {
	d.usage.begin(d.Now())
	defer func() { d.usage.end(d.Now()) }()
	d.transport.begin(l.peak)
	defer d.transport.rest()
	defer context.AfterFunc(ctx, d.transport.wake)()

	now := d.advanceClock()
	start := record.NextWindow(now)
	l.offer(l.first, start)
	d.cut.Store(false)
	end := start + l.first.Duration()
	limit := end + d.patience
	defer d.carryOutCues(ctx, start, end)()
	defer d.observe(start)()
	var stopped error
	for {
		d.takeAnswers() // before the clock moves on: they were complete in the past
		now = d.advanceClock()
		switch {
		case stopped == nil && ctx.Err() != nil:
			stopped = context.Cause(ctx)
			d.population.Stop(now)
			end, limit, l.follow = now, now+d.patience, nil
		case d.cut.CompareAndSwap(true, false):
			if at := record.NextWindow(now); at < end {
				d.population.Cut(at)
				end, limit = at, at+d.patience
			}
		}
		if now >= end || d.tick(min(d.population.Next(), now)) <= now {
			d.carryOut(d.population.Advance(now))
		}
		if l.follow != nil && now >= end && !d.population.Offering() {
			if p := l.follow(end); p != nil {
				l.offer(p, end)
				end += p.Duration()
				limit = end + d.patience
				continue
			}
			l.follow = nil
		}
		if now >= limit {
			d.carryOut(d.population.Abandon(now))
		}
		if now >= end && !d.population.Offering() && d.population.Open() == 0 {
			break
		}
		next := min(d.population.Next(), limit)
		if now < end {
			next = min(next, end)
		}
		d.transport.wait(d.tick(next))
	}
	d.recorder.Flush(now)
	return stopped
}

// tick returns the instant at which the loop is to wake for what is due at next.
func (d *Driver) tick(next time.Duration) time.Duration {
	if d.every > 0 && next < math.MaxInt64-d.every {
		next += d.every - 1
		next -= next % d.every
	}
	return next
}

// peak returns the highest rate of a plan.
func peak(p *plan.Plan) float64 {
	highest := 0.0
	for _, s := range p.Steps() {
		highest = max(highest, s.From, s.To)
	}
	return highest
}

// advanceClock returns the present for the population, whose instants must not
// decrease.
func (d *Driver) advanceClock() time.Duration {
	d.last = max(d.last, d.Now())
	return d.last
}

// takeAnswers tells the population what has come in, in the order and with the
// instants at which the answers were complete. An answer that was complete
// before something the population already knows of is moved to that instant.
func (d *Driver) takeAnswers() {
	d.batch = d.transport.over(d.batch)
	byDone := func(a, b *call) int { return cmp.Compare(a.done, b.done) }
	if !slices.IsSortedFunc(d.batch, byDone) {
		slices.SortStableFunc(d.batch, byDone)
	}
	for _, c := range d.batch {
		if a := c.attempt; a != nil {
			c.attempt = nil
			d.last = max(d.last, c.done)
			c.answer.Reason = d.reasons.keep(c.answer.Reason)
			d.carryOut(d.population.Answer(d.last, a, c.answer))
		}
		d.calls.give(c)
	}
}

// carryOut does what the population asked for, in order.
func (d *Driver) carryOut(effects []client.Effect) {
	for _, e := range effects {
		switch e.Kind {
		case client.Send:
			c := d.calls.take()
			c.attempt = e.Attempt
			c.arrival, c.number = e.Attempt.Arrival, e.Attempt.Number
			c.request = d.order(c.arrival.Seq)
			c.left = min(e.Attempt.Timeout, e.Attempt.Deadline) - e.Attempt.Sent
			e.Attempt.Shell = c
			d.transport.send(c)
		case client.Cancel:
			c := e.Attempt.Shell.(*call)
			c.attempt = nil // the attempt belongs to the population again
			d.transport.cancel(c)
		}
	}
}
