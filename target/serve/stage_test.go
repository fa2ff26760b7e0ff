package serve

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// uniform draws 1 ms to 2 ms.
type uniform struct{}

func (uniform) Draw(r *rand.Rand) time.Duration {
	return time.Millisecond + time.Duration(r.IntN(int(time.Millisecond)))
}
func (uniform) Mean() time.Duration { return 1500 * time.Microsecond }

// meter counts what had been read from the connections of a listener when the
// first answer began.
type meter struct {
	net.Listener
	read, atAnswer atomic.Int64
}

func (m *meter) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &metered{c.(*net.TCPConn), m}, nil
}

type metered struct {
	*net.TCPConn
	m *meter
}

func (c *metered) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.m.read.Add(int64(n))
	return n, err
}

func (c *metered) Write(b []byte) (int, error) {
	c.m.atAnswer.CompareAndSwap(-1, c.m.read.Load())
	return c.TCPConn.Write(b)
}

// ReadFrom and WriteTo of TCPConn would pass by Read and Write.
func (c *metered) ReadFrom(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{c}, r) }
func (c *metered) WriteTo(w io.Writer) (int64, error)  { return io.Copy(w, struct{ io.Reader }{c}) }

const bodySize = 100 << 10

func post() string {
	return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 102400\r\n\r\n" + strings.Repeat("x", bodySize)
}

// What has been read when the refusal begins is what the stage costs.
func TestAcceptAndHeadersRefuseBeforeTheyRead(t *testing.T) {
	for stage, most := range map[Stage]int64{Accept: 0, Headers: maxLine} {
		s := newServer(t, &gate{}, at(stage))
		m := &meter{}
		m.atAnswer.Store(-1)
		addr, _ := listen(t, s, func(ln net.Listener) net.Listener { m.Listener = ln; return m })
		c := dial(t, addr)
		c.send(post())
		want := map[Stage]string{Accept: "503 closed close", Headers: "503 closed"}[stage]
		if got := c.answer(); got != want {
			t.Errorf("%s: %s, want %s", stage, got, want)
		}
		if got := m.atAnswer.Load(); got < 0 || got > most {
			t.Errorf("%s: %d bytes had been read when it refused, want at most %d", stage, got, most)
		}
		if n := s.Counts(); n.Prepared != 0 || n.Refused["closed"] != 1 {
			t.Errorf("%s: %+v", stage, n)
		}
	}
}

// body counts what is read of it.
type body struct {
	io.Reader
	read int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += n
	return n, err
}

func TestHandlerRefusesBeforeTheBodyAndLateAfterIt(t *testing.T) {
	for stage, want := range map[Stage]struct {
		read     int
		prepared uint64
	}{Handler: {0, 0}, Late: {len(Sample), 1}} {
		s := newServer(t, &gate{}, at(stage))
		b := &body{Reader: bytes.NewReader(Sample)}
		r := httptest.NewRequest(http.MethodPost, "/", b)
		r.Header.Set("Knee-Signature", Sign(Sample))
		w := httptest.NewRecorder()
		s.serveHTTP(w, r)
		n := s.Counts()
		if w.Code != 503 || b.read != want.read || n.Prepared != want.prepared || n.BadBodies != 0 {
			t.Errorf("%s: status %d, %d bytes read, %d prepared, %d bad; want 503, %d, %d, 0",
				stage, w.Code, b.read, n.Prepared, n.BadBodies, want.read, want.prepared)
		}
	}
}

func TestServedBodiesArePreparedAtEveryStage(t *testing.T) {
	for _, stage := range Stages() {
		s := newServer(t, nil, at(stage))
		addr, _ := listen(t, s, nil)
		for _, c := range []struct{ name, body, signature string }{
			{"good", string(Sample), Sign(Sample)},
			{"unsigned", string(Sample), ""},
			{"forged", string(Sample), Sign([]byte("something else"))},
			{"no JSON", "x=1", ""},
		} {
			r, err := http.NewRequest(http.MethodPost, "http://"+addr, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Knee-Signature", c.signature)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatalf("%s: %s: %v", stage, c.name, err)
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("%s: %s: status %d", stage, c.name, resp.StatusCode)
			}
		}
		if n := s.Counts(); n.Prepared != 4 || n.BadBodies != 2 {
			t.Errorf("%s: %d prepared, %d of them bad; want 4, 2", stage, n.Prepared, n.BadBodies)
		}
	}
}

func TestLateWorksOnTheSampleWithoutABody(t *testing.T) {
	s := newServer(t, nil, at(Late))
	ask(s, nil)
	if n := s.Counts(); n.Prepared != 1 || n.BadBodies != 0 {
		t.Errorf("%d prepared, %d bad; want 1, 0", n.Prepared, n.BadBodies)
	}
	if len(Sample) < 500 || len(Sample) > 700 {
		t.Errorf("the sample has %d bytes: its comment says about 600", len(Sample))
	}
}

func TestHeadersKeepsTheConnection(t *testing.T) {
	s := newServer(t, &gate{open: 1}, at(Headers))
	addr, _ := listen(t, s, nil)
	c := dial(t, addr)
	c.send(get)
	if got := c.answer(); got != "200" {
		t.Fatal(got)
	}
	for name, request := range map[string]string{
		"get":             get,
		"body":            post(),
		"chunked":         "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
		"bare line feeds": "GET / HTTP/1.1\nHost: x\n\n",
		"blank before":    "\r\n" + get,
		"1.0 keep-alive":  "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
		"pipelined":       get + get,
	} {
		c.send(request)
		for range strings.Count(request, "HTTP/1.") {
			if got := c.answer(); got != "503 closed" {
				t.Errorf("%s: %s, want 503 closed on the same connection", name, got)
			}
		}
	}
	c.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, err := http.ReadResponse(c.br, &http.Request{Method: http.MethodHead}); err != nil || resp.StatusCode != 503 || resp.ContentLength != 7 {
		t.Errorf("head: %+v, %v", resp, err)
	}
	c.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
	if got := c.answer(); got != "503 closed close" {
		t.Errorf("close: %s", got)
	}
	c.closed()
}

func TestHeadersRefusesWhatItCannotRead(t *testing.T) {
	for name, c := range map[string]struct{ request, want string }{
		"no version":      {"GET /\r\n\r\n", "400 close"},
		"HTTP/2":          {"GET / HTTP/2.0\r\n\r\n", "505 close"},
		"no colon":        {"GET / HTTP/1.1\r\nHost\r\n\r\n", "400 close"},
		"space in name":   {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", "400 close"},
		"folded":          {"GET / HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", "400 close"},
		"length":          {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 close"},
		"two lengths":     {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400 close"},
		"smuggling":       {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400 close"},
		"gzip":            {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "501 close"},
		"long line":       {"GET / HTTP/1.1\r\nA: " + strings.Repeat("a", maxLine) + "\r\n\r\n", "431 close"},
		"long head":       {"GET / HTTP/1.1\r\n" + strings.Repeat("A: "+strings.Repeat("a", 1000)+"\r\n", 70) + "\r\n", "431 close"},
		"body too long":   {"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", "400 close"},
		"chunk malformed": {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400 close"},
	} {
		s := newServer(t, nil, at(Headers))
		addr, stop := listen(t, s, nil)
		conn := dial(t, addr)
		conn.send(c.request)
		if got := conn.answer(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		stop()
		n := s.Counts()
		if wantDropped := uint64(strings.Count(name, "body")) + uint64(strings.Count(name, "chunk")); n.Dropped["malformed"] != wantDropped || n.Admitted != 0 {
			t.Errorf("%s: %d dropped as malformed, want %d; %d still inside", name, n.Dropped["malformed"], wantDropped, n.Admitted)
		}
	}
}

func TestHeadersAndExpect(t *testing.T) {
	const expect = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
	s := newServer(t, &gate{open: 1}, at(Headers))
	addr, _ := listen(t, s, nil)
	c := dial(t, addr)
	c.send(expect)
	if got := c.answer(); got != "100" {
		t.Fatal(got)
	}
	c.send("{}")
	if got := c.answer(); got != "200" {
		t.Fatal(got)
	}
	c.send(expect)
	if got := c.answer(); got != "503 closed close" {
		t.Errorf("refused: %s: whether a body follows cannot be known, so the connection ends", got)
	}
}

func TestAcceptKeepsNoConnectionWhileItSheds(t *testing.T) {
	s := newServer(t, &gate{open: 3}, at(Accept))
	addr, _ := listen(t, s, nil)
	kept := dial(t, addr)
	for range 2 {
		kept.send(get)
		if got := kept.answer(); got != "200" {
			t.Fatalf("%s, want 200: nothing has been refused", got)
		}
	}
	held := dial(t, addr) // the third place
	for s.Counts().Admitted == 0 {
		time.Sleep(time.Millisecond)
	}
	kept.send(get)
	if got := kept.answer(); got != "503 closed close" {
		t.Errorf("kept connection: %s", got)
	}
	kept.closed()
	fresh := dial(t, addr)
	if got := fresh.answer(); got != "503 closed close" {
		t.Errorf("fresh connection that sent nothing: %s", got)
	}
	fresh.closed()
	held.send(get)
	if got := held.answer(); got != "200 close" {
		t.Errorf("served while others are refused: %s", got)
	}
	n := s.Counts()
	if n.Arrived != 5 || n.Served != 3 || n.Refused["closed"] != 2 {
		t.Errorf("%+v", n)
	}
	if u := n.Classes["unknown"]; u.Arrived != 2 || u.Rejected["closed"] != 2 {
		t.Errorf("unknown callers: %+v", u)
	}
	if d := n.Classes["default"]; d.Arrived != 3 || d.Served != 3 {
		t.Errorf("known callers: %+v", d)
	}
}

func TestAcceptTakesBackAnUnusedPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &gate{open: 2}, at(Accept))
		ln := newPipes()
		go s.Serve(t.Context(), ln, time.Second)
		conn := ln.dial()
		defer conn.Close()
		synctest.Wait()
		if n := s.Counts(); n.Admitted != 1 {
			t.Fatalf("%d inside, want 1", n.Admitted)
		}
		time.Sleep(acceptPatience)
		synctest.Wait()
		if n := s.Counts(); n.Admitted != 0 || n.Dropped["silent"] != 1 {
			t.Fatalf("%d inside, %v dropped: want 0, 1 silent", n.Admitted, n.Dropped)
		}
		c := &rawConn{conn, t, nil}
		c.br = bufio.NewReader(conn)
		c.send(get)
		if got := c.answer(); got != "200" {
			t.Errorf("later on the same connection: %s", got)
		}
		go io.WriteString(conn, get)
		if got := c.answer(); got != "503 closed close" {
			t.Errorf("the gate is closed: %s", got)
		}
	})
}

func BenchmarkRefuse(b *testing.B) {
	for _, stage := range Stages() {
		b.Run(string(stage), func(b *testing.B) {
			s := newServer(b, nil, at(stage))
			s.frozen = true // refuses everything, without a protection's own cost
			addr, _ := listen(b, s, nil)
			var c *rawConn
			answer := make([]byte, 4096)
			for b.Loop() {
				if c == nil || stage == Accept {
					if c != nil {
						c.Close()
					}
					c = dial(b, addr)
				}
				c.send(get)
				if n, err := c.Read(answer); err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 503")) {
					b.Fatalf("%q, %v", answer[:n], err)
				}
			}
		})
	}
}
