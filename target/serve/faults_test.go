package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"knee/target/fault"
	"knee/target/protection"
	"knee/target/server"
)

const ms = time.Millisecond

// What can be put into a server of these tests, by its number.
const (
	failing = iota
	down
	crash
	pause
	stall
	broken // cannot be built
)

// faulty gives a server faults.
func faulty(c *Config) {
	registered := func(kind string) Fault {
		return Fault{Kind: kind, New: func() (fault.Fault, error) { return newFault(kind) }}
	}
	c.Faults = []Fault{
		{Kind: "failing", New: func() (fault.Fault, error) { return new(failure), nil }},
		{Kind: "down", New: func() (fault.Fault, error) { return bend(func(c *fault.Conditions) { c.Down = true }), nil }},
		{Kind: "crash", New: func() (fault.Fault, error) { return bend(func(c *fault.Conditions) { c.Crashes++ }), nil }},
		registered("pause"),
		registered("stall"),
		{Kind: "broken", New: func() (fault.Fault, error) { return nil, errors.New("no such thing") }},
	}
}

// newFault builds a registered fault with its defaults.
func newFault(kind string) (fault.Fault, error) {
	info, err := fault.Registry.Lookup(kind)
	if err != nil {
		return nil, err
	}
	return info.New(fault.Setup{Workers: 1, Service: 10 * ms}, info.Knobs())
}

// bent bends the conditions in one way for as long as it is there.
type bent struct{ how func(*fault.Conditions) }

func bend(how func(*fault.Conditions)) *bent { return &bent{how} }

func (f *bent) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	f.how(c)
	return protection.Never
}

// failure has all work fail.
type failure struct{}

func (*failure) Bend(time.Duration, *fault.Conditions) time.Duration { return protection.Never }

func (*failure) Treat(_ time.Duration, _ *protection.Request, t *fault.Treatment) { t.Fail = "broken" }

func mustInject(t *testing.T, s *Server, i int) {
	t.Helper()
	if err := s.Inject(i, time.Hour); err != nil {
		t.Fatal(err)
	}
}

const upload = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"

func TestFailedWorkIsAnAnswerLikeAnyOther(t *testing.T) {
	for _, stage := range Stages() {
		for _, request := range []string{get, upload} {
			s := newServer(t, nil, func(c *Config) { faulty(c); c.ShedAt = stage })
			addr, _ := listen(t, s, nil)
			mustInject(t, s, failing)
			conn := dial(t, addr)
			for range 2 {
				conn.send(request)
				if got := conn.answer(); got != "500 broken" {
					t.Errorf("%s: %q, want the status and why, on a connection that is kept", stage, got)
				}
			}
			if err := s.Lift(failing); err != nil {
				t.Fatal(err)
			}
			conn.send(request)
			if got := conn.answer(); got != "200" {
				t.Errorf("%s: %q after the fault", stage, got)
			}
			n := s.Counts()
			if n.Failed != 2 || n.FailedBy["broken"] != 2 || n.Classes["default"].Failed != 2 || n.Served != 1 {
				t.Errorf("%s: counts %+v", stage, n)
			}
		}
	}
}

// gone fails the test unless the connection ends without a word, and not by a reset.
func (c *rawConn) gone() {
	c.t.Helper()
	switch b, err := c.br.ReadByte(); {
	case err == nil:
		c.t.Errorf("the server says %q, want nothing", b)
	case errors.Is(err, syscall.ECONNRESET), !errors.Is(err, io.EOF):
		c.t.Errorf("the connection ends with %v, want its plain end", err)
	}
}

// Callers of a server that is down, or that died while it had their requests, see
// a connection that ends without an answer.
func TestNobodyIsThere(t *testing.T) {
	for _, stage := range Stages() {
		for _, request := range []string{get, upload} {
			s := newServer(t, nil, func(c *Config) { faulty(c); c.ShedAt = stage; c.Core.Service = time.Hour })
			addr, _ := listen(t, s, nil)
			inside := dial(t, addr)
			inside.send(request)
			for s.Counts().Running == 0 {
				time.Sleep(ms)
			}
			mustInject(t, s, crash)
			inside.gone()
			mustInject(t, s, down)
			late := dial(t, addr)
			late.send(request)
			late.gone()
			if n := s.Counts(); n.Arrived != 2 || n.FailedBy["crash"] != 1 || n.FailedBy["down"] != 1 || n.Admitted != 0 {
				t.Errorf("%s: counts %+v", stage, n)
			}
		}
	}
}

// trip sends one request in a bubble and notes when it was answered, and how.
func trip(ln *pipes, request string, start time.Time, status *int, took *time.Duration) func() {
	return func() {
		conn := ln.dial()
		defer conn.Close()
		io.WriteString(conn, request)
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			*status = resp.StatusCode
		}
		*took = time.Since(start)
	}
}

// What arrives while the process stands still waits outside, whatever it brings,
// until the lease of the fault is over.
func TestAPauseKeepsCallersWaiting(t *testing.T) {
	for _, stage := range Stages() {
		for _, request := range []string{get, upload} {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, nil, func(c *Config) { faulty(c); c.ShedAt = stage })
				ctx, cancel := context.WithCancel(t.Context())
				ln := newPipes()
				done := make(chan error, 1)
				go func() { done <- s.Serve(ctx, ln, time.Minute) }()
				if err := s.Inject(pause, 50*ms); err != nil {
					t.Fatal(err)
				}
				var status int
				var took time.Duration
				go trip(ln, request, time.Now(), &status, &took)()
				time.Sleep(49 * ms)
				synctest.Wait()
				if n := s.Counts(); n.Arrived != 0 || !slices.Equal(n.Faults, []string{"pause"}) {
					t.Errorf("%s: %d have arrived during the pause, with %v there; want none, and it", stage, n.Arrived, n.Faults)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if status != 200 || took != 60*ms {
					t.Errorf("%s: status %d after %v, want 200 after 60ms", stage, status, took)
				}
				if n := s.Counts(); n.Served != 1 || len(n.Faults) != 0 {
					t.Errorf("%s: %d served, with %v there; want one, and nothing", stage, n.Served, n.Faults)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A server that closes does not leave anybody waiting outside.
func TestClosingEndsAPause(t *testing.T) {
	for _, stage := range []Stage{Headers, Handler} {
		for _, request := range []string{get, upload} {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, nil, func(c *Config) { faulty(c); c.ShedAt = stage })
				ctx, cancel := context.WithCancel(t.Context())
				ln := newPipes()
				done := make(chan error, 1)
				go func() { done <- s.Serve(ctx, ln, 10*ms) }()
				mustInject(t, s, pause)
				var status int
				var took time.Duration
				answered := make(chan struct{})
				go func() { trip(ln, request, time.Now(), &status, &took)(); close(answered) }()
				synctest.Wait()
				cancel()
				<-answered
				if status != 503 || took != 10*ms {
					t.Errorf("%s: status %d after %v, want 503 after the grace", stage, status, took)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestWorkDoesNotBurnDuringAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b barrier
		passed := false
		b.pass() // it is open at first
		b.set(true)
		b.set(true)
		go func() { b.pass(); passed = true }()
		synctest.Wait()
		if passed {
			t.Error("a shut barrier lets work pass")
		}
		b.set(false)
		synctest.Wait()
		if !passed {
			t.Error("an open barrier holds work up")
		}
		b.pass()
	})
	s := newServer(t, nil, func(c *Config) { faulty(c); external(c) })
	mustInject(t, s, stall)
	if s.barrier.shut.Load() == nil {
		t.Error("a stall holds up no work that burns")
	}
	if err := s.Lift(stall); err != nil || s.barrier.shut.Load() != nil {
		t.Errorf("a stall that was lifted still holds work up (%v)", err)
	}
}

func TestFaultsAreControlled(t *testing.T) {
	for name, c := range map[string]struct {
		faults func(*Config)
		body   string
		says   string // "": it is done
		there  []string
	}{
		"inject":          {faulty, `{"inject":[{"fault":4,"for_ms":60000}]}`, "", []string{"stall"}},
		"two":             {faulty, `{"inject":[{"fault":4,"for_ms":60000},{"fault":0,"for_ms":1e6}]}`, "", []string{"failing", "stall"}},
		"twice":           {faulty, `{"inject":[{"fault":4,"for_ms":60000},{"fault":4,"for_ms":60000}]}`, "", []string{"stall"}},
		"lift":            {faulty, `{"lift":[4]}`, "", nil},
		"lift and inject": {faulty, `{"inject":[{"fault":4,"for_ms":60000}],"lift":[4],"workers":2}`, "", []string{"stall"}},
		"no such fault":   {faulty, `{"inject":[{"fault":0,"for_ms":60000},{"fault":6,"for_ms":60000}]}`, "fault 6: want a number from 0 to 5", nil},
		"negative":        {faulty, `{"lift":[-1]}`, "fault -1: want a number from 0 to 5", nil},
		"no lease":        {faulty, `{"inject":[{"fault":4}]}`, "want a duration above 0, up to 24h0m0s", nil},
		"too long":        {faulty, `{"inject":[{"fault":4,"for_ms":1e12}]}`, "want a duration above 0, up to 24h0m0s", nil},
		"cannot be built": {faulty, `{"inject":[{"fault":5,"for_ms":1}]}`, "fault 5 (broken): no such thing", nil},
		"by its name":     {faulty, `{"inject":[{"kind":"stall","for_ms":1}]}`, `unknown field "kind"`, nil},
		"none":            {nil, `{"inject":[{"fault":0,"for_ms":1}]}`, "fault 0: the profile has none", nil},
		"bad workers too": {faulty, `{"inject":[{"fault":4,"for_ms":60000}],"workers":-1}`, "workers is -1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, nil, c.faults)
			w := control(s, "Bearer secret", "POST", "/change", c.body)
			if done := w.Code == http.StatusNoContent; done != (c.says == "") || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("status %d, %q; want %q", w.Code, w.Body, c.says)
			}
			if got := s.Counts().Faults; !slices.Equal(got, c.there) {
				t.Errorf("%v are there, want %v", got, c.there)
			}
		})
	}
}

func TestTheLeaseOfAnEarlierInjectionEndsNoLaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil, faulty)
		for range 2 {
			if err := s.Inject(stall, 50*ms); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * ms)
		}
		if n := s.Counts(); len(n.Faults) != 1 {
			t.Errorf("%v are there 60 ms after the first and 30 after the second, want the second", n.Faults)
		}
		time.Sleep(21 * ms)
		if n := s.Counts(); len(n.Faults) != 0 {
			t.Errorf("%v are there after the lease, want none", n.Faults)
		}
	})
}

// saying stamps what a protection has to say into each answer.
type saying struct{ gate }

func (*saying) Stamp(_ time.Duration, _ *protection.Request, a *protection.Answer) {
	a.NoRetry, a.Granted, a.Credits = a.Reason != "", true, 7
}

func (p *saying) Limit() int { return 11 }

func TestAnswersSayWhatProtectionsSay(t *testing.T) {
	for _, stage := range Stages() {
		s := newServer(t, nil, func(c *Config) {
			faulty(c)
			c.ShedAt = stage
			c.Core.Chain = []server.Link{{Kind: "saying", New: func() (protection.Protection, error) { return &saying{gate{open: 2}}, nil }}}
		})
		addr, _ := listen(t, s, nil)
		for i, want := range []struct {
			status int
			retry  string
		}{{200, ""}, {500, "no"}, {503, "no"}} {
			if i == 1 {
				mustInject(t, s, failing)
			}
			conn := dial(t, addr)
			conn.send(get)
			resp, err := http.ReadResponse(conn.br, nil)
			if err != nil {
				t.Fatal(err)
			}
			if h := resp.Header; resp.StatusCode != want.status || h.Get("Knee-Retry") != want.retry || h.Get("Knee-Credits") != "7" {
				t.Errorf("%s: %d %v, want %d, Knee-Retry %q and 7 credits", stage, resp.StatusCode, h, want.status, want.retry)
			}
			if h := resp.Header; want.status == 500 && h.Get("Retry-After") != "" {
				t.Errorf("%s: a failure says when to come back: %v", stage, h)
			}
		}
		if n := s.Counts(); n.Limit != 11 || n.Peak != 1 {
			t.Errorf("%s: limit %d and peak %d, want 11 and 1", stage, n.Limit, n.Peak)
		}
	}
}

func TestBodiesHaveASize(t *testing.T) {
	for _, stage := range []Stage{Headers, Handler, Late} {
		for request, want := range map[string]int64{get: 0, upload: 2} {
			g := &gate{open: 1}
			s := newServer(t, g, at(stage))
			addr, _ := listen(t, s, nil)
			conn := dial(t, addr)
			conn.send(request)
			conn.answer()
			if got := g.asked[0].Bytes; got != want {
				t.Errorf("%s: a body of %d bytes, want %d", stage, got, want)
			}
		}
	}
}
