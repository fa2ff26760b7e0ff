package cases

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"knee/generator/live"
)

// A rogue is a server that says what a function says, whatever it is asked.
type rogue struct {
	url     string
	mu      sync.Mutex
	counts  seen
	running sync.WaitGroup
}

// A peer is one connection of a rogue.
type peer struct {
	*net.TCPConn
	in    *bufio.Reader
	rogue *rogue
}

// startRogue starts a server that calls talk with each connection and closes it
// afterwards.
func startRogue(t *testing.T, talk func(c *peer)) *rogue {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rogue{url: "http://" + l.Addr().String()}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			s.count(func(n *seen) { n.connections++ })
			s.running.Go(func() {
				defer c.Close()
				talk(&peer{TCPConn: c.(*net.TCPConn), in: bufio.NewReader(c), rogue: s})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.running.Wait()
	})
	return s
}

func (s *rogue) address() string { return s.url }

func (s *rogue) seen(*testing.T) seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func (s *rogue) count(what func(*seen)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.counts)
}

// head reads the head of a request; false when there is none.
func (c *peer) head() (*http.Request, bool) {
	r, err := http.ReadRequest(c.in)
	if err == nil {
		c.rogue.count(func(n *seen) { n.requests++ })
	}
	return r, err == nil
}

// request reads a request with its body.
func (c *peer) request() (*http.Request, bool) {
	r, ok := c.head()
	if ok {
		_, err := io.Copy(io.Discard, r.Body)
		ok = err == nil
	}
	return r, ok
}

// say writes something that is no complete answer.
func (c *peer) say(text string) bool {
	_, err := io.WriteString(c.TCPConn, text)
	return err == nil
}

// answer writes a complete answer, alone or with what follows it.
func (c *peer) answer(text string) bool {
	ok := c.say(text)
	if ok {
		c.rogue.count(func(n *seen) { n.answers++ })
	}
	return ok
}

// reset makes the close of the connection a reset.
func (c *peer) reset() { _ = c.SetLinger(0) }

// hold reads what comes until the caller hangs up.
func (c *peer) hold() { _, _ = io.Copy(io.Discard, c.in) }

const ok200 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// always returns a talk that answers each request of a connection with the same
// bytes, and goes on.
func always(text string) func(*peer) {
	return func(c *peer) {
		for {
			if _, ok := c.request(); !ok || !c.answer(text) {
				return
			}
		}
	}
}

// only returns a talk that answers one request, which is to be the last, and waits
// until the caller hangs up.
func only(text string) func(*peer) {
	return func(c *peer) {
		if _, ok := c.request(); ok && c.answer(text) {
			c.hold()
		}
	}
}

// A turn is what a rogue does, and how requests to it end over every engine.
type turn struct {
	talk func(*peer)
	trip trip
	ends []string // the only ways, each of which there is
	may  []string // further ones that there may be
	// nethttp are further ones over net/http. It looks at a connection before it sends
	// over it, so that what a server says by itself may come too early, and gives it
	// back before it has looked at what follows an answer.
	nethttp []string
	deaf    bool // the server reads no request
	check   func(t *testing.T, o outcome, s seen)
}

// ended says that an answer is no success, for one reason.
func ended(ends ...string) []string { return ends }

// take carries out turns over every engine of HTTP/1.1.
func take(t *testing.T, turns map[string]turn) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(turns)) {
		turn := turns[name]
		for _, engine := range plain() {
			t.Run(name+"/"+string(engine), func(t *testing.T) {
				t.Parallel()
				s := startRogue(t, turn.talk)
				r := turn.trip
				if r.length == 0 {
					r.rate, r.length = 50, 200*time.Millisecond
				}
				o := r.run(t, s.url, engine)
				ends, may := turn.ends, turn.may
				if engine == live.NetHTTP && turn.nethttp != nil {
					ends, may = nil, slices.Concat(ends, may, turn.nethttp)
				}
				got := o.check(t, s, turn.deaf, may...)
				o.ended(t, ends, may)
				if turn.check != nil {
					turn.check(t, o, got)
				}
			})
		}
	}
}
