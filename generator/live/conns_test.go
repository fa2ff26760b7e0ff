package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"knee/generator/client"
)

// talking returns a talk that answers one request after the other until answer
// says that the connection is over.
func talking(answer func(c *net.TCPConn) (more bool)) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		for in := bufio.NewReader(c); ; {
			if _, ok := readRequest(in); !ok || !answer(c) {
				return
			}
		}
	}
}

func TestConnectionsAreReused(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		s := serveRaw(t, talking(func(c *net.TCPConn) bool { write(c, ok200); return true }))
		d, series, p := trip{url: s.url, rate: 200, length: 500 * time.Millisecond, options: Options{Engine: engine}}.start(t)
		if err := d.Warm(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if s := d.Stats(); s.Opened != 3 || s.Open != 3 {
			t.Errorf("opened %d, open %d: want the 3 of the warm-up", s.Opened, s.Open)
		}
		if err := d.Run(t.Context(), 0, p); err != nil {
			t.Fatal(err)
		}
		d.Close()
		stats, good := d.Stats(), series.Steps()[0].Total.Good
		if good != 100 || stats.Open != 0 || stats.BodyBytes != 200 {
			t.Errorf("good %d, %d bytes, %d connections open: want 100, 200 and none", good, stats.BodyBytes, stats.Open)
		}
		// A stall of this machine may put many requests in flight at once: only a client
		// that gives its connections up opens one for each.
		if stats.Opened+stats.Reused < 100 || stats.Reused < 50 || int(stats.Opened) != s.connections() {
			t.Errorf("opened %d, reused %d, the server saw %d: want them reused", stats.Opened, stats.Reused, s.connections())
		}
	})
}

// What follows an answer is not the next one.
func TestLeftOversAreNoAnswers(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		var requests atomic.Int64
		s := serveRaw(t, talking(func(c *net.TCPConn) bool {
			requests.Add(1)
			write(c, ok200+"HTTP/1.1 500 Not yours\r\nContent-Length: 0\r\n\r\n")
			return true
		}))
		r := trip{url: s.url, rate: 100, length: 100 * time.Millisecond, options: Options{Engine: engine}}.run(t)
		if r.tally.Good != 10 || requests.Load() != 10 || s.connections() != 10 {
			t.Errorf("good %d, failed by %v, %d requests on %d connections: want 10 good, each on a connection of its own",
				r.tally.Good, r.tally.FailedBy, requests.Load(), s.connections())
		}
	})
}

// Callers that hang up cost their connection, those that listen on do not get the
// answer of somebody else.
func TestAnswersAfterTheTimeout(t *testing.T) {
	for name, hangUp := range map[string]bool{"listen": false, "close": true} {
		t.Run(name, func(t *testing.T) {
			overPlain(t, func(t *testing.T, engine Engine) {
				release := make(chan struct{})
				var came atomic.Int64
				s := serveRaw(t, talking(func(c *net.TCPConn) bool {
					if came.Add(1) == 20 {
						time.AfterFunc(500*time.Millisecond, func() { close(release) })
					}
					<-release
					write(c, ok200)
					return true
				}))
				r := trip{
					url: s.url, rate: 200, length: 100 * time.Millisecond, timeout: 150 * time.Millisecond, grace: 10 * time.Second,
					client: client.Options{Close: hangUp}, options: Options{Engine: engine},
				}.run(t)
				want, not := r.tally.Late, r.tally.Timeout
				if hangUp {
					want, not = not, want
				}
				// When this machine stands still for longer than the timeout, nobody waits any more.
				if tooLate := r.tally.UnsentBy[client.ReasonOutOfTime]; want+tooLate != 20 || not != 0 {
					t.Errorf("late %d, timeout %d, good %d, failed by %v, unsent by %v: want 20 of one kind",
						r.tally.Late, r.tally.Timeout, r.tally.Good, r.tally.FailedBy, r.tally.UnsentBy)
				}
			})
		})
	}
}

func TestWarmSaysWhyNot(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		d, _, _ := trip{url: "http://" + closedPort(t), rate: 1, length: time.Second, options: Options{Engine: engine}}.start(t)
		defer d.Close()
		if err := d.Warm(t.Context(), 5); err == nil {
			t.Error("want an error: nobody listens")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		cancel(enough)
		if err := d.Warm(ctx, 5); err == nil {
			t.Error("want an error: cancelled")
		}
	})
}

// A large body goes out in pieces, and its answer may come before it is through.
func TestLargeBodies(t *testing.T) {
	body := make([]byte, 3<<20)
	for i := range body {
		body[i] = byte(i * 7)
	}
	overPlain(t, func(t *testing.T, engine Engine) {
		var wrong atomic.Int64
		s := serveRaw(t, func(c *net.TCPConn) {
			for in := bufio.NewReader(c); ; {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				if got, _ := io.ReadAll(r.Body); !bytes.Equal(got, body) {
					wrong.Add(1)
				}
				write(c, ok200)
			}
		})
		r := trip{
			url: s.url, rate: 50, length: 100 * time.Millisecond,
			options: Options{Engine: engine, Requests: []Request{{Method: "POST", Body: body}}},
		}.run(t)
		if r.tally.Good != 5 || wrong.Load() != 0 {
			t.Errorf("good %d, failed by %v, %d bodies changed on the way: want 5 and none", r.tally.Good, r.tally.FailedBy, wrong.Load())
		}
	})
}

// closedPort returns an address of this machine at which nobody listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
