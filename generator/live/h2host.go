package live

import (
	"context"

	"knee/generator/client"
)

// An h2Host is one server: its connections, and the requests that wait for a
// stream on one of them. Everything is under the lock of the transport.
//
// A request takes a stream of the connection that last had room, so that as few
// are in use as need be. When all are full it waits here, and further connections
// are opened while HTTP.MaxConns allows it.
type h2Host struct {
	t       *h2
	route   *route
	waiting h2List
	roomy   []*h2Conn // those with room, the one to be used next last
	live    int       // connections that take new streams
	barred  int       // of these, the ones on which the server allows none
	dialing int
	limit   int // streams that the newest connection allows; 0 when it is not known
}

// send puts s on a connection, or has it wait for one.
func (h *h2Host) send(s *h2Stream) {
	if h.waiting.n == 0 {
		if c := h.room(); c != nil {
			c.take(s)
			return
		}
	}
	if h.t.closed {
		h.t.end(s, client.Answer{})
		return
	}
	s.queued = h.t.now()
	s.expires = s.queued + s.call.left
	s.limited = h.full()
	h.waiting.push(s)
	h.dialMore()
}

// full reports whether what waits does so for a stream of the connections that
// there are, and not for one that is being opened.
func (h *h2Host) full() bool {
	return h.live > 0 && h.dialing == 0 && h.mayDial() <= 0
}

// forget ends s, which waits, as nobody listens for its answer any more.
func (h *h2Host) forget(s *h2Stream) {
	if s.limited {
		h.t.streams.Unsent++
		h.waited(s)
	}
	s.remove()
	h.t.end(s, client.Answer{})
}

// waited counts what s waited for a stream.
func (h *h2Host) waited(s *h2Stream) {
	seen := &h.t.streams
	seen.Waits++
	seen.Conns = max(seen.Conns, h.live)
	if seen.Limit == 0 || h.limit < seen.Limit {
		seen.Limit = h.limit
	}
	took := min(h.t.now()-s.queued, longestConnect)
	_ = h.t.waits.RecordValue(max(1, took.Microseconds()))
}

// room returns a connection that allows another stream, nil when there is none.
func (h *h2Host) room() *h2Conn {
	for len(h.roomy) > 0 {
		last := len(h.roomy) - 1
		if c := h.roomy[last]; c.room() {
			return c
		}
		h.roomy[last].roomy = false
		h.roomy[last] = nil
		h.roomy = h.roomy[:last]
	}
	return nil
}

// assign gives streams to those that wait, the longest waiting first, and opens
// connections for what is left. A request whose time is over is not sent any
// more: a caller has given up on it, and in a queue that grows it would only keep
// others from being answered in time. It stays until it is cancelled.
func (h *h2Host) assign() {
	if h.waiting.n == 0 || h.t.closed {
		return
	}
	now := h.t.now()
	for s := h.waiting.first; s != nil; s = h.waiting.first {
		if now >= s.expires {
			s.remove()
			continue
		}
		c := h.room()
		if c == nil {
			break
		}
		s.remove()
		if s.limited {
			h.waited(s)
		}
		c.take(s)
	}
	h.dialMore()
}

// mayDial returns how many more connections may be opened.
func (h *h2Host) mayDial() int {
	if h.barred > 0 {
		return 0 // it says "not now": another connection would go behind its back
	}
	n := h.t.options.MaxDials - h.dialing
	if most := h.t.options.MaxConns; most > 0 {
		n = min(n, most-h.live-h.dialing)
	}
	return n
}

// dialMore begins to open as many connections as those that wait need, by what
// the last one allowed; the first one alone, as it is to say what it allows.
func (h *h2Host) dialMore() {
	if h.t.closed || h.waiting.n == 0 {
		return
	}
	need := 1
	if h.limit > 0 {
		need = (h.waiting.n + h.limit - 1) / h.limit
	}
	for range min(need-h.dialing, h.mayDial()) {
		h.dialing++
		h.t.running.Go(func() {
			c, err := h.dial(h.t.ctx)
			if h.dialled(h.t.ctx, c, err) == nil {
				c.run()
			}
		})
	}
}

// dialled takes in a connection that was being opened, or fails those that it
// was to carry.
func (h *h2Host) dialled(ctx context.Context, c *h2Conn, err error) error {
	t := h.t
	t.mu.Lock()
	defer t.mu.Unlock()
	h.dialing--
	if err != nil {
		if ctx.Err() == nil && t.ctx.Err() == nil {
			t.seen.openFailed.Add(1)
		}
		h.fail(h2ConnectFailure(err))
		h.assign()
		return err
	}
	t.seen.open.Add(1)
	t.seen.connected(c.connect)
	t.conns[c] = struct{}{}
	if t.closed {
		_ = c.net.Close()
	}
	h.live++
	c.ready = true
	c.allow(c.limit)
	for s := h.waiting.first; s != nil && h.full(); s = s.next {
		s.limited = true
	}
	return nil
}

// fail ends those that wait and that one more connection would have carried: all
// when it is not known how many these are.
func (h *h2Host) fail(a client.Answer) {
	n := h.waiting.n
	if h.limit > 0 {
		n = min(n, h.limit)
	}
	for range n {
		s := h.waiting.first
		s.remove()
		h.t.end(s, a)
	}
}

// warm opens connections until n requests can be under way at once, or no
// further one is allowed.
func (h *h2Host) warm(ctx context.Context, n int) error {
	for h.wants(n) {
		c, err := h.dial(ctx)
		if err := h.dialled(ctx, c, err); err != nil {
			return err
		}
		h.t.running.Go(c.run)
	}
	return context.Cause(ctx)
}

// wants reports whether n requests at once need another connection, which is
// then being opened.
func (h *h2Host) wants(n int) bool {
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	if h.t.closed || h.mayDial() <= 0 || h.live > 0 && h.live*h.limit >= n {
		return false
	}
	h.dialing++
	return true
}
