package live

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"knee/generator/client"
	"knee/generator/http1"
)

// state is what a socket is doing.
type state uint8

const (
	opening state = iota
	resting       // it waits for a request
	busy          // it carries one
	closed
)

// A pollConn is one connection to the server.
type pollConn struct {
	fd        int
	number    uint32 // tells it from others that have had the same descriptor
	state     state
	used      bool // it has carried a request
	rested    bool // it has been idle since it was opened
	pool      *pollPool
	end       endpoint
	call      *call // that it carries; nil when it rests
	parser    http1.Parser
	head      []byte        // what is left to send of the request, in a copy of its own
	body      []byte        // and after that, of its body
	sent      int64         // bytes of the request
	began     time.Duration // to open, or to carry the call
	connect   time.Duration // how long it took to open
	polls     uint64        // of the loop, when it came to rest
	stirred   bool          // an event of it is pending
	previous  *pollConn     // of those being opened
	following *pollConn
}

// sending reports whether something of a request is still to be sent.
func (s *pollConn) sending() bool { return len(s.head) > 0 || len(s.body) > 0 }

// copyUpTo is the length up to which a body is sent in one piece with the head.
const copyUpTo = 16 << 10

// exchange sends c over s, which rests.
func (e *epoll) exchange(s *pollConn, c *call) {
	if s.used {
		e.seen.reused.Add(1)
	}
	r := e.requestOf(c)
	s.state, s.call, c.carrier = busy, c, s
	s.parser.Begin(r.HeadOnly())
	s.began, s.sent = e.now(), 0
	e.out = r.AppendHead(e.out[:0])
	if e.knee {
		e.out = appendCall(e.out, c)
	}
	e.out = http1.EndHead(e.out)
	s.body = r.Body()
	if len(s.body) <= copyUpTo {
		e.out, s.body = append(e.out, s.body...), nil
	}
	n, errno := sysWrite(s.fd, e.out)
	switch {
	case errno != 0 && errno != unix.EAGAIN:
		e.read(s, true)
		e.lose(s, c, errno)
		return
	case errno != 0:
		n = 0
	}
	s.sent += int64(n)
	if n < len(e.out) {
		s.head = append(s.head[:0], e.out[n:]...)
		return
	}
	if len(s.body) > 0 {
		e.write(s)
	}
}

// write sends as much as the socket takes.
func (e *epoll) write(s *pollConn) {
	c := s.call
	for s.sending() {
		part := &s.head
		if len(*part) == 0 {
			part = &s.body
		}
		n, errno := sysWrite(s.fd, *part)
		switch errno {
		case 0:
			s.sent += int64(n)
			*part = (*part)[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			e.read(s, true) // an answer may have come before the connection broke
			e.lose(s, c, errno)
			return
		}
	}
	s.head = s.head[:0:0]
}

// read takes what has come; over says that the connection has ended, which is
// what comes last.
func (e *epoll) read(s *pollConn, over bool) {
	for {
		n, errno := sysRead(s.fd, e.in)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0 || n == 0:
			e.broken(s, errno)
			return
		case s.call == nil: // bytes that nobody asked for
			e.seen.surplus.Add(1)
			e.hangUp(s)
			return
		}
		taken, done, err := s.parser.Feed(e.in[:n])
		switch {
		case err != nil:
			e.refuse(s, err)
			return
		case done:
			e.answered(s, taken < n, over)
			return
		case n < len(e.in) && !over:
			return // that was all: what comes later is an event of its own
		}
	}
}

// broken is the end of s by the other side.
func (e *epoll) broken(s *pollConn, errno unix.Errno) {
	if s.call == nil {
		e.hangUp(s)
		return
	}
	if errno == 0 {
		if s.parser.EOF() {
			e.answered(s, false, true)
			return
		}
	}
	e.lose(s, s.call, errno)
}

// lose ends c, which s carries unless it has been answered, with how its
// connection broke.
func (e *epoll) lose(s *pollConn, c *call, errno unix.Errno) {
	if s.call != c || s.state != busy {
		return
	}
	now := e.now()
	b := breakage{
		reset:    errno != 0,
		sent:     s.sent,
		uploaded: !s.sending(),
		started:  s.parser.Started(),
		head:     s.parser.HeadDone(),
		kept:     (s.used || s.rested) && !e.knee, // our own server gives up no connection while it is idle
		took:     now - s.began,
		connect:  s.connect,
	}
	e.hangUp(s)
	c.answer, c.done = client.Answer{Result: client.Failed, Reason: b.kind()}, now
	e.end(c)
}

// refuse ends the call of s, whose answer cannot be read.
func (e *epoll) refuse(s *pollConn, err error) {
	c := s.call
	e.hangUp(s)
	e.fail(c, client.Answer{Result: client.Failed, Reason: parseKind(err)})
}

// answered ends the call of s with its answer. Bytes that follow an answer make
// the connection useless: they are not the next one. So does its end, of which no
// further event will tell: a server may have closed its side alone.
func (e *epoll) answered(s *pollConn, surplus, over bool) {
	c, p := s.call, &s.parser
	c.done = e.now()
	c.answer = e.judge.answer(p.Status(), (*parsed)(p), p.Body())
	e.seen.bodyBytes.Add(uint64(p.BodyBytes()))
	e.end(c)
	s.call, s.used = nil, true
	if surplus {
		e.seen.surplus.Add(1)
	}
	if surplus || over || s.sending() || e.options.NoKeepAlive || !p.KeepAlive() {
		e.hangUp(s)
		return
	}
	e.offer(s)
}

// hangUp closes s. Its call is not ended by that.
func (e *epoll) hangUp(s *pollConn) {
	if s.call != nil { // what came of an answer that did not come to its end
		e.seen.bodyBytes.Add(uint64(s.parser.BodyBytes()))
	}
	if s.state == opening {
		s.pool.dialing--
		e.dialing.remove(s)
	} else {
		e.seen.open.Add(-1)
	}
	s.pool.route.closed(s.end)
	e.sockets[s.fd] = nil
	_ = unix.Close(s.fd)
	s.state, s.call, s.head, s.body = closed, nil, nil, nil
}

// alive reports whether s, which rests, is still good for a request: nothing has
// come over it, not even its end. A socket that has rested while the loop asked
// for events would have been told so.
func (e *epoll) alive(s *pollConn) bool {
	if s.polls != e.polls && len(e.pending) == 0 {
		return true
	}
	var b [1]byte
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(&b)), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	return errno == unix.EAGAIN
}

// sysRead and sysWrite do not wait, and so need not tell the scheduler that they might.

func sysRead(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

func sysWrite(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}
