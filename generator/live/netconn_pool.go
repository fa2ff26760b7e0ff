package live

import (
	"context"
	"crypto/tls"
)

// A netPool keeps the connections of one route. A call takes the connection that
// came to rest last; when there is none it waits for whichever comes first, one
// that another call gives back or one opened for it.
type netPool struct {
	route   *route
	resting []*stream
	waiting callQueue
	dialing int
	wanted  int   // connections to open for warm
	failure error // why they could not be opened
}

// pop returns the connection that came to rest last and is still good; nil when
// there is none.
func (p *netPool) pop() *stream {
	for len(p.resting) > 0 {
		last := len(p.resting) - 1
		s := p.resting[last]
		p.resting[last] = nil
		p.resting = p.resting[:last]
		if s.alive() {
			return s
		}
		s.hangUp()
	}
	return nil
}

// offer gives s, which carries nothing, to the call that has waited longest, or
// lets it rest.
func (t *netConn) offer(s *stream) {
	p := s.pool
	if p.waiting.length == 0 {
		s.rested = true
		p.resting = append(p.resting, s)
		return
	}
	// A new connection that the server gives up at once fails the call: another one
	// would have to be opened without end.
	if s.used && !s.alive() {
		s.hangUp()
		t.openMore(p)
		return
	}
	t.exchange(s, p.waiting.pop())
}

// openMore begins to open as many connections as are waited for, within the bound.
func (t *netConn) openMore(p *netPool) {
	for p.dialing < min(p.waiting.length+p.wanted, t.options.MaxDials) {
		p.dialing++
		s := &stream{engine: t, pool: p, settled: make(chan struct{})}
		s.parser.Init(t.limits, t.fields)
		s.judge = judge{rules: t.rules, odd: &t.seen.oddRetry}
		t.running.Go(s.run)
	}
}

func (t *netConn) opened(s *stream) {
	p := s.pool
	p.dialing--
	if p.wanted > 0 {
		p.wanted--
	}
	t.offer(s)
	close(s.settled)
	t.openMore(p)
}

// notOpened tells the call that has waited longest that no connection could be
// opened.
func (t *netConn) notOpened(s *stream, err error, handshake bool) {
	p := s.pool
	p.dialing--
	t.seen.openFailed.Add(1)
	if p.wanted > 0 {
		p.wanted, p.failure = 0, err
	}
	if c := p.waiting.pop(); c != nil {
		t.fail(c, connectFailure(err, handshake))
	}
	t.openMore(p)
}

// open opens the connection of s. A handshake error is one that came after the
// network connection stood.
func (s *stream) open() (err error, handshake bool) {
	t := s.engine
	ctx, cancel := context.WithTimeout(t.ctx, t.options.ConnectTimeout)
	defer cancel()
	c, end, err := s.pool.route.dial(ctx)
	if err != nil {
		return err, false
	}
	s.end, s.peek = end, peeker(c)
	if target := s.pool.route.target; target.scheme == "https" {
		config := serverName(t.options.TLS, target.host)
		config.NextProtos = []string{"http/1.1"}
		secured := tls.Client(c, config)
		shaking, cancel := context.WithTimeout(t.ctx, t.options.ConnectTimeout)
		defer cancel()
		if err := secured.HandshakeContext(shaking); err != nil {
			_ = c.Close()
			s.closed()
			return err, true
		}
		c, s.peek = secured, nil // what waits may be TLS' own
	}
	s.conn = c
	return nil, false
}

// closed tells the route that the connection is gone.
func (s *stream) closed() { s.pool.route.closed(s.end) }
