package live

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// A pool keeps the connections to the server. A request takes the connection
// that became idle last. When there is none it waits for whichever comes first:
// a connection that another request gives back, or one opened for it. So the
// number of connections follows the peak of the requests in flight.
type pool struct {
	dial  func(context.Context) (*conn, error)
	most  int // connections being opened at once
	now   func() time.Duration
	ctx   context.Context // of the connections being opened
	stop  context.CancelFunc
	dials sync.WaitGroup

	mu      sync.Mutex
	idle    []*conn
	waiting list.List // of *waiter, the longest waiting first
	dialing int
	closed  bool
	seen    *counters
}

// A waiter is a request that waits for a connection.
type waiter struct {
	place *list.Element // nil once it has been served
	ready chan delivery
}

// A delivery is what a waiter gets.
type delivery struct {
	conn *conn
	err  error
}

var errPoolClosed = errors.New("the driver is closed")

func newPool(dial func(context.Context) (*conn, error), most int, now func() time.Duration, seen *counters) *pool {
	p := &pool{dial: dial, most: most, now: now, seen: seen}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// get returns a connection for one request, which gives it back with put. It
// returns the error of a connection that could not be opened, or of ctx.
func (p *pool) get(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errPoolClosed
	}
	if c := p.pop(); c != nil {
		p.mu.Unlock()
		return c, nil
	}
	w := &waiter{ready: make(chan delivery, 1)}
	w.place = p.waiting.PushBack(w)
	p.openMore()
	p.mu.Unlock()

	select {
	case got := <-w.ready:
		return got.conn, got.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	if w.place != nil {
		p.waiting.Remove(w.place)
		w.place = nil
	}
	p.mu.Unlock()
	select {
	case got := <-w.ready: // it came at the same moment
		if got.conn != nil {
			p.put(got.conn)
		}
	default:
	}
	return nil, context.Cause(ctx)
}

// pop returns the connection that became idle last and is still usable; nil when
// there is none.
func (p *pool) pop() *conn {
	for len(p.idle) > 0 {
		last := len(p.idle) - 1
		c := p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		if c.usable() {
			p.lend(c)
			return c
		}
	}
	return nil
}

// lend counts the use of c.
func (p *pool) lend(c *conn) {
	if c.used {
		p.seen.reused.Add(1)
	}
}

// put takes c back, or hangs up when it cannot be used any more.
func (p *pool) put(c *conn) {
	if !c.usable() {
		_ = c.http.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offer(c)
}

// offer gives c to the request that has waited longest, or lets it rest.
func (p *pool) offer(c *conn) {
	switch {
	case p.closed:
		_ = c.http.Close()
	case p.waiting.Len() > 0:
		p.lend(c)
		p.serve(delivery{conn: c})
	default:
		c.rested = true
		p.idle = append(p.idle, c)
	}
}

// serve gives d to the request that has waited longest, if there is one.
func (p *pool) serve(d delivery) {
	first := p.waiting.Front()
	if first == nil {
		return
	}
	w := p.waiting.Remove(first).(*waiter)
	w.place = nil
	w.ready <- d
}

// openMore begins to open as many connections as requests wait for, within the bound.
func (p *pool) openMore() {
	for p.dialing < min(p.waiting.Len(), p.most) && !p.closed {
		p.dialing++
		p.dials.Go(func() {
			c, err := p.timedDial(p.ctx)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.dialing--
			if err != nil {
				p.serve(delivery{err: err})
			} else {
				p.offer(c)
			}
			p.openMore()
		})
	}
}

// timedDial opens a connection and counts it.
func (p *pool) timedDial(ctx context.Context) (*conn, error) {
	began := p.now()
	c, err := p.dial(ctx)
	took := p.now() - began
	if err != nil {
		if p.ctx.Err() == nil && ctx.Err() == nil {
			p.seen.openFailed.Add(1)
		}
		return nil, err
	}
	c.connect = took
	p.seen.connected(took)
	return c, nil
}

// warm opens n connections and lets them rest. It returns the first error.
func (p *pool) warm(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	room := make(chan struct{}, p.most)
	var dials sync.WaitGroup
	for range n {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		dials.Go(func() {
			defer func() { <-room }()
			c, err := p.timedDial(ctx)
			if err != nil {
				cancel(err)
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.offer(c)
		})
	}
	dials.Wait()
	return context.Cause(ctx)
}

// close hangs up on idle connections and on those being opened, and waits for
// the latter. Connections in use are closed when they are put back.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	p.stop()
	for _, c := range idle {
		_ = c.http.Close()
	}
	p.dials.Wait()
}
