package live

import (
	"context"
	"sync"
	"time"

	"knee/generator/client"
	"knee/generator/http1"
)

// NetConn is the engine of HTTP/1.1 that runs everywhere.
const NetConn Engine = "netconn"

// netConn carries requests as HTTP/1.1 over the connections of package net, with
// TLS where the target asks for it. The loop sends, as that does not wait; a
// goroutine for each connection reads. It owns no more than the connection's
// parser: which connection carries what is the loop's to decide.
type netConn struct {
	sleeper
	options  HTTP
	knee     bool
	rules    Rules
	limits   http1.Limits
	fields   *http1.Fields
	pools    []*netPool
	requests [][]netRequest // by Request, then by class
	events   *inbox[netEvent]
	taken    []netEvent // of events, to be used again
	ended    []*call    // over, not taken yet
	out      []byte     // the request that is being sent
	buffers  sync.Pool  // of *[readAtOnce]byte, for large answers
	seen     counters

	ctx     context.Context // of the connections being opened
	hangUp  context.CancelFunc
	running sync.WaitGroup
}

// A netRequest is a prepared request and the connections that carry it.
type netRequest struct {
	*http1.Request
	pool *netPool
}

// A netEvent is what a connection's goroutine tells the loop.
type netEvent struct {
	kind      netEventKind
	stream    *stream
	call      *call // that is over; may be nil
	err       error // of notOpened
	handshake bool  // the error is one of the handshake
}

type netEventKind uint8

const (
	streamOpened netEventKind = iota
	streamNotOpened
	streamFree // it can carry another call
	streamGone
)

func newNetConn(o Options, now func() time.Duration) (*netConn, error) {
	options, err := o.HTTP.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &netConn{
		sleeper: newSleeper(o.Coarse, now),
		options: options, knee: o.Knee, rules: o.Rules,
		limits: http1.Limits{Head: int(options.MaxHead), Interim: mostInterim, Look: o.Rules.look()},
		fields: http1.NewFields(o.Rules.names()...),
	}
	t.events = newInbox[netEvent](t.ready)
	t.buffers.New = func() any { return new([readAtOnce]byte) }
	all, err := prepareAll(o)
	if err != nil {
		return nil, err
	}
	pools := map[*route]*netPool{}
	for _, classes := range all {
		requests := make([]netRequest, len(classes))
		for i, p := range classes {
			pool := pools[p.route]
			if pool == nil {
				pool = &netPool{route: p.route}
				pools[p.route] = pool
				t.pools = append(t.pools, pool)
			}
			requests[i] = netRequest{Request: rawRequest(p, o.HTTP.NoKeepAlive), pool: pool}
		}
		t.requests = append(t.requests, requests)
	}
	t.ctx, t.hangUp = context.WithCancel(context.Background())
	return t, nil
}

func (t *netConn) send(c *call) {
	r := t.requestOf(c)
	if s := r.pool.pop(); s != nil {
		t.exchange(s, c)
		return
	}
	c.carrier = nil
	r.pool.waiting.push(c)
	t.openMore(r.pool)
}

func (t *netConn) requestOf(c *call) *netRequest {
	return &t.requests[c.request][c.arrival.Class]
}

func (t *netConn) cancel(c *call) {
	s, ok := c.carrier.(*stream)
	if !ok {
		t.requestOf(c).pool.waiting.remove(c)
		t.end(c)
		return
	}
	s.hangUp()
	if s.call.CompareAndSwap(c, nil) {
		t.end(c)
	} // else the connection's goroutine has ended it at the same moment
}

// end gives c back.
func (t *netConn) end(c *call) { t.ended = append(t.ended, c) }

// fail ends c with what became of it.
func (t *netConn) fail(c *call, a client.Answer) {
	c.answer, c.done = a, t.now()
	t.end(c)
}

func (t *netConn) over(spare []*call) []*call {
	t.takeEvents()
	ended := t.ended
	t.ended = spare[:0]
	return ended
}

// takeEvents does what the connections' goroutines ask for.
func (t *netConn) takeEvents() {
	t.taken = t.events.take(t.taken)
	for i, e := range t.taken {
		t.taken[i] = netEvent{}
		if e.call != nil {
			t.end(e.call)
		}
		switch e.kind {
		case streamOpened:
			t.opened(e.stream)
		case streamNotOpened:
			t.notOpened(e.stream, e.err, e.handshake)
		case streamFree:
			t.offer(e.stream)
		}
	}
}

// wait returns at once when calls are over that nobody has taken: they were given
// up while they waited for a connection.
func (t *netConn) wait(until time.Duration) {
	if len(t.ended) == 0 {
		t.sleeper.wait(until)
	}
}

func (t *netConn) warm(ctx context.Context, n int) error {
	defer context.AfterFunc(ctx, t.wake)()
	p := t.pools[0]
	p.wanted, p.failure = n, nil
	for t.openMore(p); p.wanted > 0; t.takeEvents() {
		if ctx.Err() != nil {
			p.wanted = 0
			return context.Cause(ctx)
		}
		<-t.ready
	}
	return p.failure
}

func (t *netConn) traffic() Traffic { return t.seen.traffic() }

func (t *netConn) close() {
	t.hangUp()
	t.running.Wait()
}
