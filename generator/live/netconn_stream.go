package live

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"knee/generator/client"
	"knee/generator/http1"
)

// A stream is one connection to the server. Its goroutine opens it and then reads.
type stream struct {
	engine *netConn
	pool   *netPool
	conn   net.Conn
	end    endpoint
	call   atomic.Pointer[call] // that it carries; whoever takes it away ends it
	dead   atomic.Bool          // it carries no further call

	// settled is closed when the loop has given the new connection its first call, or
	// has let it rest. What the server says before that may answer the call: one that
	// refuses connections says so as it accepts them.
	settled chan struct{}
	feeding bool // the goroutine's own: part of an answer came

	// The loop's own.
	used   bool // it has carried a request
	rested bool // it has been idle since it was opened

	// The loop sets these before it sends, the goroutine uses them once something
	// comes.
	parser  http1.Parser
	judge   judge
	began   time.Duration
	kept    bool
	connect time.Duration // how long it took to open
	peek    func() bool   // reports whether nothing waits to be read; nil where that cannot be told

	upload  bool       // the request is sent by a goroutine of its own
	sending sync.Mutex // held while it is being sent
	sent    int64      // bytes of it
	whole   bool       // it was sent to its end
}

// alive reports whether s, which rests, is still good for a request: nothing has
// come over it, not even its end.
func (s *stream) alive() bool {
	return !s.dead.Load() && (s.peek == nil || s.peek())
}

// hangUp closes the connection, which its goroutine then learns.
func (s *stream) hangUp() {
	s.dead.Store(true)
	_ = s.conn.Close()
}

// sentByLoop is the length up to which the loop sends a request itself: the buffer
// of a connection that rests has room for it.
const sentByLoop = 4 << 10

// exchange sends c over s, which rests.
func (t *netConn) exchange(s *stream, c *call) {
	r := t.requestOf(c)
	c.carrier = s
	s.kept = (s.used || s.rested) && !t.knee // our own server gives up no connection while it is idle
	s.parser.Begin(r.HeadOnly())
	s.began = t.now()
	t.out = r.AppendHead(t.out[:0])
	if t.knee {
		t.out = appendCall(t.out, c)
	}
	t.out = http1.EndHead(t.out)
	s.upload = len(t.out)+len(r.Body()) > sentByLoop
	s.sending.Lock()
	s.sent, s.whole = 0, false
	s.call.Store(c)
	if s.dead.Load() && s.call.CompareAndSwap(c, nil) { // its end came at this moment
		s.sending.Unlock()
		t.send(c)
		return
	}
	if s.used {
		t.seen.reused.Add(1)
	}
	s.used = true
	if !s.upload {
		t.out = append(t.out, r.Body()...)
		s.send(t.out, nil)
		return
	}
	head := append([]byte(nil), t.out...)
	t.running.Go(func() { s.send(head, r.Body()) })
}

// send sends a request, and ends when the connection does. The goroutine that
// reads learns of that by itself.
func (s *stream) send(head, body []byte) {
	defer s.sending.Unlock()
	for _, part := range [2][]byte{head, body} {
		if len(part) == 0 {
			continue
		}
		n, err := s.conn.Write(part)
		s.sent += int64(n)
		if err != nil {
			return
		}
	}
	s.whole = true
}

// readBuffer is what a resting connection holds to read into.
const readBuffer = 4 << 10

// run opens the connection and reads what comes until it ends.
func (s *stream) run() {
	t := s.engine
	began := t.now()
	if err, handshake := s.open(); err != nil {
		t.events.post(netEvent{kind: streamNotOpened, stream: s, err: err, handshake: handshake})
		return
	}
	s.connect = t.now() - began
	t.seen.open.Add(1)
	t.seen.connected(s.connect)
	defer context.AfterFunc(t.ctx, func() { _ = s.conn.Close() })()
	t.events.post(netEvent{kind: streamOpened, stream: s})
	s.read()
	s.closed()
	t.seen.open.Add(-1)
}

// read hands what comes to the parser, and answers to the loop.
func (s *stream) read() {
	t := s.engine
	small := make([]byte, readBuffer)
	buffer := small
	var large *[readAtOnce]byte
	settled := s.settled
	for {
		n, err := s.conn.Read(buffer)
		if settled != nil {
			select {
			case <-settled:
			case <-t.ctx.Done():
			}
			settled = nil
		}
		now := t.now()
		if n > 0 && !s.take(buffer[:n], now) {
			break
		}
		if err != nil {
			s.lose(err, now)
			break
		}
		if n < len(buffer) {
			if large != nil {
				t.buffers.Put(large)
				large, buffer = nil, small
			}
		} else if large == nil {
			large = t.buffers.Get().(*[readAtOnce]byte)
			buffer = large[:]
		}
	}
	if large != nil {
		t.buffers.Put(large)
	}
	if s.feeding { // what came of an answer that did not come to its end
		t.seen.bodyBytes.Add(uint64(s.parser.BodyBytes()))
	}
}

// take takes bytes that came, and reports whether the connection goes on.
func (s *stream) take(b []byte, now time.Duration) (more bool) {
	c := s.call.Load()
	if c == nil { // bytes that nobody asked for, or that somebody no longer waits for
		if !s.dead.Load() {
			s.engine.seen.surplus.Add(1)
		}
		s.abandon(now)
		return false
	}
	s.feeding = true
	n, done, err := s.parser.Feed(b)
	switch {
	case err != nil:
		return s.leave(s.finish(c, client.Answer{Result: client.Failed, Reason: parseKind(err)}, now))
	case done:
		return s.answered(c, n < len(b), now)
	}
	return true
}

// answered ends c with its answer. Bytes that follow an answer make the connection
// useless: they are not the next one.
func (s *stream) answered(c *call, surplus bool, now time.Duration) (more bool) {
	t, p := s.engine, &s.parser
	s.feeding = false
	t.seen.bodyBytes.Add(uint64(p.BodyBytes()))
	if surplus {
		t.seen.surplus.Add(1)
	}
	free := p.KeepAlive() && !surplus && !t.options.NoKeepAlive && s.sentWhole()
	c = s.finish(c, s.judge.answer(p.Status(), (*parsed)(p), p.Body()), now)
	if !free || c == nil {
		return s.leave(c)
	}
	t.events.post(netEvent{kind: streamFree, stream: s, call: c})
	return true
}

// sentWhole reports whether the request has been sent to its end: the rest of it
// would run into the next one.
func (s *stream) sentWhole() bool {
	if !s.upload {
		s.sending.Lock() // for as long as the loop needs to come back from sending it
	} else if !s.sending.TryLock() {
		return false
	}
	defer s.sending.Unlock()
	return s.whole
}

// finish takes c away from s and fills in how it ended; nil when the loop was
// faster, and has given it up.
func (s *stream) finish(c *call, a client.Answer, now time.Duration) *call {
	if !s.call.CompareAndSwap(c, nil) {
		return nil
	}
	c.answer, c.done = a, now
	return c
}

// leave gives the connection up and c, if there is one, to the loop.
func (s *stream) leave(c *call) (more bool) {
	s.hangUp()
	s.engine.events.post(netEvent{kind: streamGone, stream: s, call: c})
	return false
}

// abandon gives up the connection, which carries nothing. A call that the loop gives
// it at this moment fails: the loop looks whether it is dead once it has done so,
// and here it is looked for once it is dead.
func (s *stream) abandon(now time.Duration) {
	s.hangUp()
	c := s.call.Load()
	if c != nil {
		c = s.finish(c, client.Answer{Result: client.Failed, Reason: ResetIdle}, now)
	}
	s.leave(c)
}

// lose is the end of the connection by the other side, or by the loop.
func (s *stream) lose(err error, now time.Duration) {
	c := s.call.Load()
	if c == nil {
		s.abandon(now)
		return
	}
	s.hangUp() // which ends a request that is still being sent
	s.sending.Lock()
	sent, whole := s.sent, s.whole
	s.sending.Unlock()
	if isEnd(err) && s.parser.EOF() {
		a := s.judge.answer(s.parser.Status(), (*parsed)(&s.parser), s.parser.Body())
		s.leave(s.finish(c, a, now))
		return
	}
	b := breakage{
		reset:    isReset(err),
		sent:     sent,
		uploaded: whole,
		started:  s.parser.Started(),
		head:     s.parser.HeadDone(),
		kept:     s.kept,
		took:     now - s.began,
		connect:  s.connect,
	}
	s.leave(s.finish(c, client.Answer{Result: client.Failed, Reason: b.kind()}, now))
}
