package live

import (
	"time"

	"golang.org/x/net/http2"

	"knee/target/wire"
)

// mostAtOnce is about how much is put together before it is sent.
const mostAtOnce = 64 << 10

// lastWords is how long a connection that cannot be written to any more may go on
// saying why.
const lastWords = time.Second

// write sends what there is to send until the connection ends.
func (c *h2Conn) write() {
	for {
		c.t.mu.Lock()
		more := c.fill()
		over := c.closing && !more
		c.t.mu.Unlock()
		if c.out.Len() > 0 {
			if err := c.flush(); err != nil {
				_ = c.net.SetReadDeadline(time.Now().Add(lastWords))
				return
			}
		}
		switch {
		case over:
			_ = c.net.Close()
			return
		case more:
			continue
		}
		select {
		case <-c.work:
		case <-c.gone:
			return
		}
	}
}

// fill puts together what is to be sent next, and reports whether there is more.
// The framer writes to a buffer, which does not fail.
func (c *h2Conn) fill() (more bool) {
	for _, f := range c.controls {
		switch f.kind {
		case http2.FrameSettings:
			_ = c.framer.WriteSettingsAck()
		case http2.FramePing:
			_ = c.framer.WritePing(true, f.data)
		case http2.FrameRSTStream:
			_ = c.framer.WriteRSTStream(f.id, f.code)
		case http2.FrameWindowUpdate:
			_ = c.framer.WriteWindowUpdate(f.id, f.room)
		case http2.FrameGoAway:
			_ = c.framer.WriteGoAway(0, f.code, nil)
		}
	}
	c.controls, c.owed = c.controls[:0], 0
	for s := c.pending.first; s != nil; s = c.pending.first {
		if c.out.Len() >= mostAtOnce {
			return true
		}
		if c.nextID > mostID {
			c.retire(H2GoAway)
			break
		}
		s.remove()
		c.begin(s)
	}
	return c.fillBodies()
}

// begin writes the head of s.
func (c *h2Conn) begin(s *h2Stream) {
	s.id, c.nextID = c.nextID, c.nextID+2
	s.began, s.window, s.rest = c.t.now(), c.startWindow, s.request.body
	c.streams[s.id] = s
	c.block = append(c.block[:0], s.request.block...)
	if c.t.knee {
		c.block = appendH2Call(c.block, s.call)
	}
	if s.request.grpc {
		var value [16]byte
		c.block = appendLiteral(c.block, lowerGRPCTimeout, wire.AppendGRPC(value[:0], s.call.left))
	}
	n := min(len(c.block), c.maxFrame)
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: c.block[:n], EndStream: len(s.rest) == 0, EndHeaders: n == len(c.block),
	})
	for rest := c.block[n:]; len(rest) > 0; rest = rest[n:] {
		n = min(len(rest), c.maxFrame)
		_ = c.framer.WriteContinuation(s.id, n == len(rest), rest[:n])
	}
	if len(s.rest) > 0 {
		c.uploads.push(s)
	}
}

// fillBodies writes as much of the bodies as the server takes, in turn.
func (c *h2Conn) fillBodies() (more bool) {
	for range c.uploads.n {
		s := c.uploads.first
		s.remove()
		n := min(int64(len(s.rest)), s.window, c.window, int64(c.maxFrame), mostAtOnce)
		if n > 0 {
			_ = c.framer.WriteData(s.id, n == int64(len(s.rest)), s.rest[:n])
			s.rest = s.rest[n:]
			s.window -= n
			c.window -= n
			more = more || c.window > 0 && s.window > 0 && len(s.rest) > 0
		}
		if len(s.rest) > 0 {
			c.uploads.push(s)
		}
		if c.out.Len() >= mostAtOnce {
			return true
		}
	}
	return more
}
