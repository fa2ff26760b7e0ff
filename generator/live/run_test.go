package live

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
)

// A trip is a small run and what came of it.
type trip struct {
	url     string
	rate    float64
	length  time.Duration
	timeout time.Duration
	grace   time.Duration
	options Options // Target, Client and Recorder are filled in
	client  client.Options
	ctx     context.Context
}

// result is what a trip recorded.
type result struct {
	tally  record.Tally
	series *record.Series
	stats  Stats
	err    error
	length time.Duration
}

// run carries the trip out and checks that every arrival ended once.
func (r trip) run(t testing.TB) result {
	t.Helper()
	d, series, p := r.start(t)
	ctx := r.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	began := d.Now()
	err := d.Run(ctx, 0, p)
	out := result{series: series, err: err, length: d.Now() - began}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	out.stats = d.Stats()
	if len(series.Steps()) > 0 {
		out.tally = series.Steps()[0].Total
	}
	if err := out.tally.Conserved(); err != nil {
		t.Errorf("not conserved: %v", err)
	}
	if out.stats.Open != 0 {
		t.Errorf("%d connections are open after Close: want 0", out.stats.Open)
	}
	if err == nil && out.tally.Planned != p.Count() {
		t.Errorf("planned %d arrivals, counted %d", p.Count(), out.tally.Planned)
	}
	return out
}

// start builds the driver, the series that it fills and the plan of a trip.
func (r trip) start(t testing.TB) (*Driver, *record.Series, *plan.Plan) {
	t.Helper()
	if r.timeout == 0 {
		r.timeout = 5 * time.Second // longer than any test takes
	}
	classes := []plan.Class{{Name: "any", Weight: 1, Criticality: 2, Cost: 1, Timeout: r.timeout, Deadline: r.timeout}}
	series := record.NewSeries([]string{"any"})
	recorder := record.NewRecorder(record.RecorderOptions{
		Classes:    []string{"any"},
		MaxLatency: r.timeout + r.grace,
		Sink:       func(d *record.Delta) { series.Add(d); d.Release() },
	})
	o := r.options
	o.Client = r.client
	o.Client.Classes, o.Client.Grace = classes, r.grace
	o.Recorder = recorder
	var err error
	if o.Target, err = ParseTarget(r.url); err != nil {
		t.Fatal(err)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(plan.Spec{
		Classes: classes,
		Clients: 1,
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: r.rate, For: r.length}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, series, p
}

// overPlain runs a test with every engine that carries HTTP/1.1 without TLS.
func overPlain(t *testing.T, test func(*testing.T, Engine)) {
	target, err := ParseTarget("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range engines() {
		if !e.http2 && e.refuses(&Options{Target: target}) == "" {
			t.Run(string(e.name), func(t *testing.T) {
				t.Parallel()
				test(t, e.name)
			})
		}
	}
}

// counter is a handler that counts the requests it sees.
type counter struct {
	mu      sync.Mutex
	n       int
	handler http.HandlerFunc
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	c.handler(w, r)
}

func (c *counter) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// serveHTTP starts a server of net/http.
func serveHTTP(t testing.TB, h http.HandlerFunc) (*counter, string) {
	t.Helper()
	c := &counter{handler: h}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return c, s.URL
}

// A rawServer hands each connection to a function, which talks to it by itself.
type rawServer struct {
	url      string
	listener net.Listener
	accepted int
	mu       sync.Mutex
	running  sync.WaitGroup
}

// serveRaw starts a server that calls talk with each connection and closes it
// afterwards.
func serveRaw(t testing.TB, talk func(c *net.TCPConn)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{url: "http://" + l.Addr().String(), listener: l}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			s.mu.Lock()
			s.accepted++
			s.mu.Unlock()
			s.running.Go(func() {
				defer c.Close()
				talk(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.running.Wait()
	})
	return s
}

func (s *rawServer) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}
