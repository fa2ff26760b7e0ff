package live

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"knee/generator/client"
)

// H2 is the engine of HTTP/2.
const H2 Engine = "h2"

// h2 carries requests by HTTP/2 (RFC 9113): over TLS, or in the clear by prior
// knowledge.
//
// It has a client connection of its own on the Framer and HPACK of x/net/http2.
// The transports of net/http and x/net hide what a measurement has to name: which
// streams a GOAWAY has cut off, the code of a reset once they have mended it by
// sending the request again, and that a request waits because the server allows
// no further stream. What it takes is small: to send heads and bodies, to read
// frames, and to keep the windows.
//
// A connection has two goroutines, one that reads and one that writes; a request
// has none. One lock guards everything: it is held for what a frame decides, never
// while reading or writing.
type h2 struct {
	relay
	options  HTTP
	requests [][]*h2Request // by Request, then by class
	hosts    []*h2Host
	wanted   map[string]string // the fields that the judge looks at: canonical names by those on the wire
	knee     bool
	look     int // bytes of a body that the judge looks at
	seen     counters

	ctx     context.Context // of the connections being opened
	hangUp  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*h2Conn]struct{} // that are open
	free    *h2Stream            // for reuse
	judge   judge
	streams StreamTraffic
	waits   *hdrhistogram.Histogram // for a stream, microseconds
}

// StreamTraffic is how the streams of HTTP/2 connections were used.
type StreamTraffic struct {
	Limit    int           // the fewest streams that a server allowed on a connection while requests waited for one; 0: none waited
	Conns    int           // the most connections that there were then
	Waits    uint64        // requests that waited for a stream because the connections allowed were full
	Unsent   uint64        // of these, those whose callers gave up before they were sent
	WaitP99  time.Duration // how long they waited
	WaitMost time.Duration
}

func newH2(o Options, now func() time.Duration) (*h2, error) {
	options, err := o.HTTP.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &h2{
		relay: newRelay(o.Coarse, now), options: options,
		wanted: wireNames(o.Rules.names()), knee: o.Knee, look: max(o.Rules.look(), messageHead),
		conns: map[*h2Conn]struct{}{},
		waits: hdrhistogram.New(1, longestConnect.Microseconds(), 3),
	}
	t.judge = judge{rules: o.Rules, odd: &t.seen.oddRetry}
	all, err := prepareAll(o)
	if err != nil {
		return nil, err
	}
	for _, classes := range all {
		requests := make([]*h2Request, len(classes))
		for i, p := range classes {
			requests[i] = newH2Request(p)
			requests[i].host = t.host(p)
		}
		t.requests = append(t.requests, requests)
	}
	t.ctx, t.hangUp = context.WithCancel(context.Background())
	return t, nil
}

// host returns what there is to the server of p.
func (t *h2) host(p *prepared) *h2Host {
	for _, h := range t.hosts {
		if h.route == p.route {
			return h
		}
	}
	h := &h2Host{t: t, route: p.route}
	t.hosts = append(t.hosts, h)
	return h
}

func (t *h2) send(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.take()
	s.call, s.request = c, t.requests[c.request][c.arrival.Class]
	c.carrier = s
	s.request.host.send(s)
}

func (t *h2) cancel(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := c.carrier.(*h2Stream)
	switch {
	case s.call != c: // it is over, and s serves another
	case s.conn == nil:
		s.request.host.forget(s)
	default:
		s.conn.cancel(s)
	}
}

// take returns a stream to fill in.
func (t *h2) take() *h2Stream {
	s := t.free
	if s == nil {
		return &h2Stream{length: -1}
	}
	t.free, s.next = s.next, nil
	return s
}

// end gives the call of s back with its answer, and keeps s for reuse.
func (t *h2) end(s *h2Stream, a client.Answer) {
	c := s.call
	c.done, c.answer = t.now(), a
	fields, start := s.fields.reset(), s.start[:0]
	if cap(start) > mostKept {
		start = nil
	}
	*s = h2Stream{next: t.free, length: -1, fields: fields, start: start}
	t.free = s
	t.post(c)
}

// mostKept is the capacity of a buffer that a stream which is not in use may hold.
const mostKept = 4 << 10

// warm opens connections until n requests can be under way at once, or no
// further connection is allowed.
func (t *h2) warm(ctx context.Context, n int) error {
	for _, h := range t.hosts {
		if err := h.warm(ctx, (n+len(t.hosts)-1)/len(t.hosts)); err != nil {
			return err
		}
	}
	return nil
}

func (t *h2) traffic() Traffic {
	seen := t.seen.traffic()
	t.mu.Lock()
	defer t.mu.Unlock()
	seen.Streams = t.streams
	if seen.Streams.Waits > 0 {
		at := func(q float64) time.Duration { return time.Duration(t.waits.ValueAtQuantile(q)) * time.Microsecond }
		seen.Streams.WaitP99, seen.Streams.WaitMost = at(99), at(100)
	}
	return seen
}

func (t *h2) close() {
	t.hangUp()
	t.mu.Lock()
	t.closed = true
	for c := range t.conns {
		_ = c.net.Close()
	}
	t.mu.Unlock()
	t.running.Wait()
}
