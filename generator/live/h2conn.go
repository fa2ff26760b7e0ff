package live

import (
	"bytes"
	"math"
	"net"
	"time"

	"golang.org/x/net/http2"

	"knee/generator/client"
)

// An h2Conn is one connection. What stands below the line is under the lock of
// the transport.
type h2Conn struct {
	t       *h2
	host    *h2Host
	net     net.Conn // the socket, or TLS on it
	end     endpoint
	connect time.Duration // how long it took to open it
	framer  *http2.Framer // reads for the one goroutine, and writes to out for the other
	head    *h2Head       // of the goroutine that reads
	out     bytes.Buffer  // of the goroutine that writes, as is block
	block   []byte
	work    chan struct{} // holds a token while there may be something to write
	gone    chan struct{} // closed when nothing comes in any more

	// ———
	ready    bool // the first SETTINGS are there
	barred   bool // the server allows no stream
	roomy    bool // it is among those of the host
	retired  bool // it takes no new stream
	carried  bool // it has carried a request
	limit    int  // streams that the server allows at once
	active   int  // those that there are, or are about to be
	nextID   uint32
	streams  map[uint32]*h2Stream // that were written and are not over
	pending  h2List               // about to be written
	uploads  h2List               // with more of the body to send
	controls []h2Control          // frames to be written before anything else
	owed     int                  // of these, those that the server asked for
	closing  bool                 // it is closed once they are written

	window      int64 // bytes of bodies that the server takes
	startWindow int64 // those of a new stream
	maxFrame    int   // largest frame that it takes
	unread      int64 // bytes received since it was last given room
}

// An h2Control is a frame that is no part of a request.
type h2Control struct {
	kind http2.FrameType
	id   uint32
	code http2.ErrCode
	room uint32 // of a WINDOW_UPDATE
	data [8]byte
}

// mostOwed bounds the frames that a server can make us owe it before we hang up:
// it asks for answers faster than it reads them.
const mostOwed = 10_000

// mostID is the highest number that a stream can have, noStreamLimit what a server
// allows that does not say.
const (
	mostID        = 1<<31 - 1
	noStreamLimit = math.MaxInt32
)

// room reports whether c can take another stream.
func (c *h2Conn) room() bool { return c.ready && !c.retired && c.active < c.limit }

// take has s written next.
func (c *h2Conn) take(s *h2Stream) {
	if c.carried {
		c.t.seen.reused.Add(1)
	}
	s.conn = c
	s.rested = c.carried && c.active == 0
	c.active++
	c.carried = true
	c.pending.push(s)
	c.wake()
}

// wake has the goroutine that writes look for work.
func (c *h2Conn) wake() { ring(c.work) }

// control has a frame written.
func (c *h2Conn) control(f h2Control) {
	c.controls = append(c.controls, f)
	c.wake()
}

// allow takes in how many streams the server allows at once.
func (c *h2Conn) allow(n int) {
	c.limit = n
	if !c.ready || c.retired {
		return
	}
	c.host.limit = max(n, 1)
	c.bar(n == 0)
	c.hasRoom()
}

// bar counts c among those on which no stream is allowed, or no longer does.
func (c *h2Conn) bar(barred bool) {
	if barred && !c.barred {
		c.host.barred++
	} else if !barred && c.barred {
		c.host.barred--
	}
	c.barred = barred
}

// hasRoom offers c to those that wait, if it has room.
func (c *h2Conn) hasRoom() {
	if c.room() && !c.roomy {
		c.roomy = true
		c.host.roomy = append(c.host.roomy, c)
	}
	c.host.assign()
}

// cancel ends s alone, as nobody listens for its answer any more.
func (c *h2Conn) cancel(s *h2Stream) {
	if s.id != 0 {
		c.control(h2Control{kind: http2.FrameRSTStream, id: s.id, code: http2.ErrCodeCancel})
	}
	c.finish(s, client.Answer{})
}

// reject ends s, whose answer cannot be taken, with a failure of this kind.
func (c *h2Conn) reject(s *h2Stream, code http2.ErrCode, kind string) {
	c.control(h2Control{kind: http2.FrameRSTStream, id: s.id, code: code})
	c.finish(s, client.Answer{Result: client.Failed, Reason: kind})
}

// answered ends s with its answer.
func (c *h2Conn) answered(s *h2Stream) {
	short := s.length >= 0 && s.got < s.length && !s.request.headOnly && s.status != 204 && s.status != 304
	if short {
		c.finish(s, client.Answer{Result: client.Failed, Reason: ShortBody})
		return
	}
	if len(s.rest) > 0 { // nobody needs the rest of the body any more
		c.control(h2Control{kind: http2.FrameRSTStream, id: s.id, code: http2.ErrCodeNo})
	}
	if s.request.grpc {
		if kind := callFault(s.status, &s.fields, s.start, s.got); kind != "" {
			c.finish(s, client.Answer{Result: client.Failed, Reason: kind})
			return
		}
	}
	c.finish(s, c.t.judge.answer(s.status, &s.fields, s.start))
}

// finish ends s and gives its place to another.
func (c *h2Conn) finish(s *h2Stream, a client.Answer) {
	s.remove()
	if s.id != 0 {
		delete(c.streams, s.id)
	}
	c.active--
	c.t.end(s, a)
	switch {
	case !c.retired:
		c.hasRoom()
	case c.active == 0:
		c.closing = true
		c.wake()
	}
}

// retire has c take no new streams. What it has not begun to write goes back to
// those that wait; but when c has not carried anything at all it has failed them,
// or else a server that takes connections and gives them up at once would be
// connected to without end.
func (c *h2Conn) retire(kind string) {
	if c.retired {
		return
	}
	c.retired = true
	c.bar(false)
	if c.ready {
		c.host.live--
	}
	for s := c.pending.last; s != nil; s = c.pending.last {
		s.remove()
		c.active--
		if c.nextID == 1 {
			c.t.end(s, client.Answer{Result: client.Failed, Reason: kind})
			continue
		}
		s.conn = nil
		s.queued = c.t.now()
		s.expires = s.queued + s.call.left
		c.host.waiting.unshift(s)
	}
	if c.ready {
		c.host.assign()
	}
}

// abort hangs up on a server that breaks the protocol.
func (c *h2Conn) abort(code http2.ErrCode, kind string) {
	c.retire(kind)
	c.control(h2Control{kind: http2.FrameGoAway, code: code})
	for _, s := range c.streams {
		c.finish(s, client.Answer{Result: client.Failed, Reason: kind})
	}
	c.closing = true
}

// lost is the end of the connection by the other side, or by us.
func (c *h2Conn) lost(err error) {
	t := c.t
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	reset := isReset(err)
	kind := EOF
	if reset {
		kind = Reset
	}
	c.retire(kind)
	for _, s := range c.streams {
		b := breakage{
			reset: reset, sent: 1, uploaded: len(s.rest) == 0,
			started: s.status != 0, head: s.status != 0,
			kept: s.rested && !t.knee, took: now - s.began, connect: c.connect,
		}
		c.finish(s, client.Answer{Result: client.Failed, Reason: b.kind()})
	}
	close(c.gone)
	delete(t.conns, c)
	t.seen.open.Add(-1)
	c.left()
}
