package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// gate is a protection that lets in the first few, and notes whom it was asked about.
type gate struct {
	open  int // how many it lets in
	after time.Duration
	asked []protection.Request
}

func (g *gate) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	g.asked = append(g.asked, *r)
	if len(g.asked) > g.open {
		return "closed"
	}
	return ""
}

func (g *gate) Leave(time.Duration, *protection.Request, protection.End) {}

func (g *gate) Stamp(_ time.Duration, _ *protection.Request, a *protection.Answer) {
	if a.Reason != "" {
		a.RetryAfter = g.after
	}
}

func fifo() (order.Order, error) {
	info, err := order.Registry.Lookup("fifo")
	if err != nil {
		return nil, err
	}
	var knobs any
	if info.Knobs != nil {
		knobs = info.Knobs()
	}
	return info.New(order.Setup{}, knobs)
}

// newServer returns a server of constant 10 ms behind g, which may be nil.
func newServer(t testing.TB, g *gate, change func(*Config)) *Server {
	t.Helper()
	cfg := Config{Core: server.Spec{Workers: 1, Service: 10 * time.Millisecond, Order: fifo}}
	if g != nil {
		cfg.Core.Chain = []server.Link{{Kind: "gate", New: func() (protection.Protection, error) { return g, nil }}}
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func at(stage Stage) func(*Config) { return func(c *Config) { c.ShedAt = stage } }

// ask puts one request through the net/http handler.
func ask(s *Server, header map[string]string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	s.serveHTTP(w, r)
	return w.Result()
}

// listen serves s on a listener of its own until the test ends, and returns
// where, and how to stop it before.
func listen(t testing.TB, s *Server, wrap func(net.Listener) net.Listener) (addr string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	if wrap != nil {
		ln = wrap(ln)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln, time.Minute) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	t.Cleanup(stop)
	return addr, stop
}

// rawConn is a connection on which a test speaks HTTP/1.1 by hand.
type rawConn struct {
	net.Conn
	t  testing.TB
	br *bufio.Reader
}

func dial(t testing.TB, addr string) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &rawConn{conn, t, bufio.NewReader(conn)}
}

func (c *rawConn) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one answer: its status, its reason and whether the server keeps
// the connection.
func (c *rawConn) answer() string {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		c.t.Fatalf("reading an answer: %v", err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		c.t.Fatalf("reading the body of an answer: %v", err)
	}
	s := fmt.Sprint(resp.StatusCode)
	if reason := resp.Header.Get("Knee-Reason"); reason != "" {
		s += " " + reason
	}
	if resp.Close {
		s += " close"
	}
	return s
}

// closed fails the test unless the server has nothing more to say.
func (c *rawConn) closed() {
	c.t.Helper()
	if b, err := c.br.ReadByte(); err == nil {
		c.t.Fatalf("the connection is open and says %q", b)
	}
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestWorkersServeOneAfterTheOther(t *testing.T) {
	for _, stage := range []Stage{Headers, Handler} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, nil, at(stage))
			ctx, cancel := context.WithCancel(t.Context())
			ln := newPipes()
			done := make(chan error, 1)
			go func() { done <- s.Serve(ctx, ln, time.Minute) }()

			start := time.Now()
			var wg sync.WaitGroup
			ended := make([]time.Duration, 3)
			for i := range ended {
				time.Sleep(time.Microsecond) // arrivals in a known order
				wg.Go(func() {
					conn := ln.dial()
					defer conn.Close()
					io.WriteString(conn, get)
					resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err != nil || resp.StatusCode != 200 {
						t.Errorf("%s: request %d: %v, %v", stage, i, resp, err)
					}
					ended[i] = time.Since(start)
				})
			}
			wg.Wait()
			for i, got := range ended {
				// The queue is never empty after the first arrival, at 1µs.
				if want := time.Microsecond + time.Duration(i+1)*10*time.Millisecond; got != want {
					t.Errorf("%s: request %d ended after %v, want %v", stage, i, got, want)
				}
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHeadersBecomeTheRequest(t *testing.T) {
	classes := []Class{
		{Name: "browse", Criticality: protection.Sheddable, Tenant: "a", Cost: 2},
		{Name: "checkout", Criticality: protection.CriticalPlus},
	}
	const ms = time.Millisecond
	type want struct {
		class   int
		crit    protection.Criticality
		tenant  string
		cost    float64
		client  uint32
		work    time.Duration
		left    time.Duration // -1: no deadline
		attempt int
		protect bool
		ignored uint64
	}
	usual := want{class: 0, crit: protection.Sheddable, tenant: "a", cost: 2, work: 10 * ms, left: -1}
	with := func(change func(*want)) want { w := usual; change(&w); return w }
	for name, c := range map[string]struct {
		headers string
		want    want
	}{
		"nothing":       {"", usual},
		"class":         {"Knee-Class: checkout", with(func(w *want) { w.class, w.crit, w.tenant, w.cost = 1, protection.CriticalPlus, "", 1 })},
		"unknown class": {"Knee-Class: nobody", with(func(w *want) { w.ignored = 1 })},
		"order":         {"Knee-Tenant: b|Knee-Criticality: critical|Knee-Cost: 0.5|Knee-Class: checkout", with(func(w *want) { w.class, w.crit, w.tenant, w.cost = 1, protection.Critical, "b", 0.5 })},
		"client":        {"Knee-Client: 4294967295", with(func(w *want) { w.client = 1<<32 - 1 })},
		"client range":  {"Knee-Client: 4294967296", with(func(w *want) { w.ignored = 1 })},
		"work":          {"Knee-Work-Ns: 123", with(func(w *want) { w.work = 123 })},
		"no work":       {"Knee-Work-Ns: 0", with(func(w *want) { w.work = 1 })},
		"too much work": {"Knee-Work-Ns: 31536000000000001", with(func(w *want) { w.ignored = 1 })},
		"timeout":       {"Knee-Timeout-Ms: 97.000123", with(func(w *want) { w.left = 97*ms + 123 })},
		"smallest":      {"Knee-Timeout-Ms: 30|Grpc-Timeout: 23m|X-Envoy-Expected-Rq-Timeout-Ms: 25", with(func(w *want) { w.left = 23 * ms })},
		"bad timeouts":  {"Knee-Timeout-Ms: -1|Grpc-Timeout: 1s|X-Envoy-Expected-Rq-Timeout-Ms: 25", with(func(w *want) { w.left, w.ignored = 25*ms, 2 })},
		"bad cost":      {"Knee-Cost: 0", with(func(w *want) { w.ignored = 1 })},
		"no number":     {"Knee-Cost: NaN", with(func(w *want) { w.ignored = 1 })},
		"attempt":       {"Knee-Attempt: 3", with(func(w *want) { w.attempt = 3 })},
		"no attempt":    {"Knee-Attempt: 0", with(func(w *want) { w.ignored = 1 })},
		"protected":     {"Knee-Protected: 1", with(func(w *want) { w.protect = true })},
		"unprotected":   {"Knee-Protected: 0", usual},
		"protected?":    {"Knee-Protected: yes", with(func(w *want) { w.ignored = 1 })},
		"bad level":     {"Knee-Criticality: vital", with(func(w *want) { w.ignored = 1 })},
	} {
		for _, stage := range []Stage{Headers, Handler} {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{}
				s := newServer(t, g, func(c *Config) { c.Classes, c.ShedAt = classes, stage })
				time.Sleep(time.Second) // a deadline is relative to the arrival
				ctx, cancel := context.WithCancel(t.Context())
				ln := newPipes()
				done := make(chan error, 1)
				go func() { done <- s.Serve(ctx, ln, time.Minute) }()
				conn := ln.dial()
				head := "GET / HTTP/1.1\r\nHost: x\r\n"
				if c.headers != "" {
					head += strings.ReplaceAll(c.headers, "|", "\r\n") + "\r\n"
				}
				io.WriteString(conn, head+"\r\n")
				if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
					t.Fatal(err)
				}
				conn.Close()
				r := g.asked[0]
				left := r.Deadline - time.Second
				if r.Deadline == protection.Never {
					left = -1
				}
				got := want{r.Class, r.Criticality, r.Tenant, r.Cost, r.Client, r.Work, left, r.Attempt, r.Protected, s.Counts().BadHeaders}
				if got != c.want {
					t.Errorf("%s at %s:\n got %+v\nwant %+v", name, stage, got, c.want)
				}
				cancel()
				<-done
			})
		}
	}
}

func TestRefusalSaysWhyAndWhenToComeBack(t *testing.T) {
	for _, c := range []struct {
		after          time.Duration // as a protection says; 0: nothing
		seconds, exact string
	}{
		{1500 * time.Millisecond, "2", "1500"},
		{0, "1", "0"}, // callers of ours are told that nobody asked
	} {
		for _, stage := range []Stage{Accept, Headers, Handler, Late} {
			s := newServer(t, &gate{after: c.after}, at(stage))
			addr, _ := listen(t, s, nil)
			conn := dial(t, addr)
			conn.send(get)
			resp, err := http.ReadResponse(conn.br, nil)
			if err != nil {
				t.Fatalf("%s: %v", stage, err)
			}
			h := resp.Header
			if resp.StatusCode != 503 || h.Get("Knee-Reason") != "closed" || h.Get("Retry-After") != c.seconds || h.Get("Knee-Retry-After-Ms") != c.exact {
				t.Errorf("%s, after %v: %d %v", stage, c.after, resp.StatusCode, h)
			}
		}
	}
}

func TestResetRefusesWhoWaits(t *testing.T) {
	// So many wait that a server that could not hold thousands would show.
	const callers = 20_000
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil, nil)
		if err := s.SetWorkers(0); err != nil {
			t.Fatal(err)
		}
		reasons := make(chan string, callers)
		for range callers {
			go func() { reasons <- ask(s, nil).Header.Get("Knee-Reason") }()
		}
		synctest.Wait()
		if n := s.Counts(); n.Waiting != callers || n.Admitted != callers {
			t.Fatalf("%d wait, %d inside: want %d", n.Waiting, n.Admitted, callers)
		}
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		for range callers {
			if got := <-reasons; got != "reset" {
				t.Fatalf("reason %q, want reset", got)
			}
		}
		n := s.Counts()
		if n.Resets != callers || n.Waiting != 0 || n.Classes["default"].Rejected["reset"] != callers {
			t.Errorf("after the reset: %+v", n)
		}
		if err := s.SetWorkers(1); err != nil {
			t.Fatal(err)
		}
		if resp := ask(s, nil); resp.StatusCode != 200 {
			t.Errorf("after the reset: status %d", resp.StatusCode)
		}
	})
}

func TestWorkGoesOnWithoutItsCaller(t *testing.T) {
	for _, stage := range []Stage{Headers, Handler} {
		s := newServer(t, nil, at(stage))
		if err := s.SetWorkers(0); err != nil {
			t.Fatal(err)
		}
		addr, stop := listen(t, s, nil)
		c := dial(t, addr)
		c.send(get)
		for s.Counts().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		c.Close()
		if err := s.SetWorkers(1); err != nil {
			t.Fatal(err)
		}
		for s.Counts().Admitted > 0 {
			time.Sleep(time.Millisecond)
		}
		stop()
		if n := s.Counts(); n.Served != 1 {
			t.Errorf("%s: %d served, want 1", stage, n.Served)
		}
	}
}

func TestStoppingServesWhoIsInside(t *testing.T) {
	for _, stage := range Stages() {
		s := newServer(t, nil, at(stage))
		addr, stop := listen(t, s, nil)
		idle, busy := dial(t, addr), dial(t, addr)
		idle.send(get)
		idle.answer()
		if err := s.SetWorkers(0); err != nil {
			t.Fatal(err)
		}
		busy.send(get)
		for s.Counts().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		idle.closed()
		if err := s.SetWorkers(1); err != nil {
			t.Fatal(err)
		}
		if got := busy.answer(); got != "200 close" && got != "200" {
			t.Errorf("%s: %s", stage, got)
		}
		busy.closed()
		<-stopped
		if _, err := net.Dial("tcp", addr); err == nil {
			t.Errorf("%s: still listening", stage)
		}
	}
}

func TestStoppingRefusesWhoTakesTooLong(t *testing.T) {
	for _, stage := range Stages() {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, nil, at(stage))
			if err := s.SetWorkers(0); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ln := newPipes()
			done := make(chan error, 1)
			go func() { done <- s.Serve(ctx, ln, time.Second) }()
			conn := ln.dial()
			io.WriteString(conn, get)
			synctest.Wait()
			cancel()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.Header.Get("Knee-Reason") != "reset" {
				t.Errorf("%s: %v, %v", stage, resp, err)
			}
			if err := <-done; err != nil {
				t.Errorf("%s: %v", stage, err)
			}
			conn.Close()
		})
	}
}

func TestSharesOfClassesAndTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &gate{open: 2}, func(c *Config) {
			c.Classes = []Class{{Name: "browse", Tenant: "a"}, {Name: "checkout"}}
		})
		ask(s, nil)
		ask(s, map[string]string{"Knee-Class": "checkout", "Knee-Tenant": "b"})
		ask(s, map[string]string{"Knee-Class": "checkout"})
		ask(s, map[string]string{"Knee-Tenant": "b"})
		n := s.Counts()
		for name, c := range map[string]struct {
			got  Share
			want string
		}{
			"browse":   {n.Classes["browse"], "2 arrived, 1 served, map[closed:1]"},
			"checkout": {n.Classes["checkout"], "2 arrived, 1 served, map[closed:1]"},
			"a":        {n.Tenants["a"], "1 arrived, 1 served, map[]"},
			"b":        {n.Tenants["b"], "2 arrived, 1 served, map[closed:1]"},
		} {
			if got := fmt.Sprintf("%d arrived, %d served, %v", c.got.Arrived, c.got.Served, c.got.Rejected); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		if n.Arrived != 4 || n.Served != 2 || n.Refused["closed"] != 2 || len(n.Tenants) != 2 {
			t.Errorf("%+v", n)
		}
	})
}

func TestTenantsAreBounded(t *testing.T) {
	var names tenants
	for i := range maxTenants {
		name := fmt.Sprint("tenant ", i)
		if got := names.intern(name); got != name {
			t.Fatalf("%q became %q", name, got)
		}
	}
	if got := names.intern("one too many"); got != otherTenants {
		t.Errorf("tenant %d is %q, want %q", maxTenants+1, got, otherTenants)
	}
	if got := names.intern("tenant 0"); got != "tenant 0" {
		t.Errorf("a known tenant became %q", got)
	}
}

func TestWorkIsDrawnFromTheSeed(t *testing.T) {
	draws := func(seed uint64) (all []time.Duration) {
		g := &gate{}
		s := newServer(t, g, func(c *Config) { c.Work, c.Seed = uniform{}, seed })
		for range 5 {
			ask(s, nil)
		}
		ask(s, map[string]string{"Knee-Work-Ns": "7"})
		for _, r := range g.asked {
			all = append(all, r.Work)
		}
		return all
	}
	first, again, other := draws(1), draws(1), draws(2)
	if fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("seed 1 gave %v and %v", first, again)
	}
	if fmt.Sprint(first[:5]) == fmt.Sprint(other[:5]) {
		t.Errorf("seeds 1 and 2 both gave %v", first)
	}
	if first[5] != 7 {
		t.Errorf("work of a request that says 7ns is %v", first[5])
	}
}

func TestNewRefuses(t *testing.T) {
	spec := server.Spec{Workers: 1, Service: time.Millisecond, Order: fifo}
	withChain := spec
	withChain.Chain = []server.Link{
		{Kind: "gate", New: func() (protection.Protection, error) { return &gate{}, nil }},
		{Kind: "picky", New: func() (protection.Protection, error) { return &knower{}, nil }},
	}
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"no workers": {Config{Core: server.Spec{Service: 1, Order: fifo}}, "workers is 0: want at least 1"},
		"stage":      {Config{Core: spec, ShedAt: "early"}, `shed_at is "early": want one of accept, headers, handler, late`},
		"blind":      {Config{Core: withChain, ShedAt: Accept}, "protections[1] (picky) needs to know the weather, which is not known at shed_at: accept"},
		"two names":  {Config{Core: spec, Classes: []Class{{Name: "a"}, {Name: "a"}}}, `class "a" is declared twice`},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	if _, err := New(Config{Core: withChain, ShedAt: Headers}); err != nil {
		t.Errorf("at headers everything is known: %v", err)
	}
}

type knower struct{ gate }

func (knower) Needs() string { return "the weather" }

// pipes is a listener of in-memory connections.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours
	case <-p.closed:
		panic("dialling a closed listener")
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, errors.New("listener closed")
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }
