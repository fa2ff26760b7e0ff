package live

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// A pollPool keeps the connections of one route. A call takes the connection
// that came to rest last. When there is none it waits for whichever comes first:
// a connection that another call gives back, or one opened for it. So the number
// of connections follows the peak of the calls in flight.
type pollPool struct {
	route   *route
	resting []*pollConn // the one that came last at the end; may hold closed ones
	waiting callQueue
	dialing int
	wanted  int   // connections to open for warm
	failure error // why they could not be opened
}

// pop returns the connection that came to rest last and is still good; nil when
// there is none.
func (e *epoll) pop(p *pollPool) *pollConn {
	for len(p.resting) > 0 {
		last := len(p.resting) - 1
		s := p.resting[last]
		p.resting[last] = nil
		p.resting = p.resting[:last]
		if s.state != resting {
			continue
		}
		if e.alive(s) {
			return s
		}
		e.hangUp(s)
	}
	return nil
}

// offer gives s, which carries nothing, to the call that has waited longest, or
// lets it rest.
func (e *epoll) offer(s *pollConn) {
	s.state, s.polls = resting, e.polls
	p := s.pool
	if p.waiting.length == 0 {
		s.rested = true
		p.resting = append(p.resting, s)
		return
	}
	if s.used && !e.alive(s) {
		e.hangUp(s)
		e.openMore(p)
		return
	}
	e.exchange(s, p.waiting.pop())
}

// openMore begins to open as many connections as are waited for, within the bound.
func (e *epoll) openMore(p *pollPool) {
	for p.dialing < min(p.waiting.length+p.wanted, e.options.MaxDials) {
		if err := e.dial(p); err != nil {
			e.dialFailed(p, err)
		}
	}
}

// dialFailed tells the call that has waited longest that no connection could be
// opened.
func (e *epoll) dialFailed(p *pollPool, err error) {
	e.seen.openFailed.Add(1)
	if p.wanted > 0 {
		p.wanted, p.failure = 0, err
	}
	if c := p.waiting.pop(); c != nil {
		e.fail(c, connectFailure(err, false))
	}
}

// dial begins to open a connection.
func (e *epoll) dial(p *pollPool) error {
	end, err := p.route.pick()
	if err != nil {
		return err
	}
	fd, err := connect(end)
	if err != nil {
		p.route.failed(end, err)
		p.route.closed(end)
		return err
	}
	e.numbers++
	s := &pollConn{fd: fd, number: e.numbers, pool: p, end: end, began: e.now()}
	s.parser.Init(e.parser.limits, e.parser.fields)
	for len(e.sockets) <= fd {
		e.sockets = append(e.sockets, nil)
	}
	if err := e.watch(fd, s.number, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP); err != nil {
		_ = unix.Close(fd)
		p.route.closed(end)
		return err
	}
	e.sockets[fd] = s
	p.dialing++
	e.dialing.push(s)
	return nil
}

// opened is the end of opening s.
func (e *epoll) opened(s *pollConn) {
	p := s.pool
	errno, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	if err != nil {
		p.route.failed(s.end, err)
		e.hangUp(s)
		e.dialFailed(p, err)
		e.openMore(p)
		return
	}
	p.route.opened(s.end)
	p.dialing--
	e.dialing.remove(s)
	s.connect = e.now() - s.began
	e.seen.open.Add(1)
	e.seen.connected(s.connect)
	if p.wanted > 0 {
		p.wanted--
	}
	e.offer(s)
	e.openMore(p)
}

// giveUpDials ends connections that have taken too long to open.
func (e *epoll) giveUpDials(now time.Duration) {
	for s := e.dialing.first; s != nil && s.began+e.options.ConnectTimeout <= now; s = e.dialing.first {
		p := s.pool
		p.route.failed(s.end, unix.ETIMEDOUT)
		e.hangUp(s)
		e.dialFailed(p, unix.ETIMEDOUT)
		e.openMore(p)
	}
}

// A dialQueue holds the sockets that are being opened, the longest first.
type dialQueue struct{ first, last *pollConn }

func (q *dialQueue) push(s *pollConn) {
	s.previous, s.following = q.last, nil
	if q.last == nil {
		q.first = s
	} else {
		q.last.following = s
	}
	q.last = s
}

func (q *dialQueue) remove(s *pollConn) {
	if s.previous == nil {
		q.first = s.following
	} else {
		s.previous.following = s.following
	}
	if s.following == nil {
		q.last = s.previous
	} else {
		s.following.previous = s.previous
	}
	s.previous, s.following = nil, nil
}

// due returns when the first of them has taken too long.
func (q *dialQueue) due(timeout time.Duration) time.Duration {
	if q.first == nil {
		return time.Duration(math.MaxInt64)
	}
	return q.first.began + timeout
}
