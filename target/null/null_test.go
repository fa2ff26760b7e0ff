package null

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// serving starts a server and returns where it is and how it is ended.
func serving(t *testing.T, o Options) (s *Server, addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s, err = New(l, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	}
	t.Cleanup(stop)
	return s, l.Addr().String(), stop
}

// both runs a test on the loop over all sockets, waiting and busy, and on goroutines.
func both(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("loop", func(t *testing.T) { test(t, Options{}) })
	t.Run("busy loop", func(t *testing.T) { test(t, Options{Busy: true}) })
	t.Run("portable", func(t *testing.T) { test(t, Options{Portable: true}) })
}

func TestServerAnswersAClient(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		o.Arrivals = 2
		s, addr, stop := serving(t, o)
		client := &http.Client{Transport: &http.Transport{}}
		for range 3 {
			resp, err := client.Post("http://"+addr+"/path", "text/plain", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 || string(body) != "ok" || err != nil {
				t.Errorf("%s, %q, %v; want 200 and ok", resp.Status, body, err)
			}
		}
		client.CloseIdleConnections()
		stop()
		if s.Requests() != 3 || len(s.Arrivals()) != 2 || !slices.IsSorted(s.Arrivals()) {
			t.Errorf("%d requests at %v; want 3, the first 2 of them in order", s.Requests(), s.Arrivals())
		}
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Error("it still listens")
		}
	})
}

// Answers that the socket does not take at once are kept, and the requests
// after them wait.
func TestServerWaitsForAClientThatDoesNotRead(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		const n = 200_000 // some 18 MB of answers: more than sockets hold
		s, addr, stop := serving(t, o)
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(conn, strings.Repeat("GET / HTTP/1.1\r\n\r\n", n-1)+"GET / HTTP/1.0\r\n\r\n")
			sent <- err
		}()
		got, err := io.ReadAll(bufio.NewReaderSize(conn, 1<<16))
		if err != nil || len(got) != n*len(ok) || strings.Count(string(got), ok) != n {
			t.Errorf("%d bytes, %v; want %d answers of %d bytes", len(got), err, n, len(ok))
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		stop()
		if s.Requests() != n || len(s.Arrivals()) != 0 {
			t.Errorf("%d requests, %d instants; want %d, 0", s.Requests(), len(s.Arrivals()), n)
		}
	})
}

func TestServerSendsTheBodyItIsGiven(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		for _, body := range []string{"", strings.Repeat("x", 100_000)} {
			o.Body = []byte(body)
			_, addr, stop := serving(t, o)
			resp, err := http.Get("http://" + addr)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.ContentLength != int64(len(body)) || string(got) != body || err != nil {
				t.Errorf("%d bytes announced, %d came, %v; want %d", resp.ContentLength, len(got), err, len(body))
			}
			stop()
		}
	})
}

func TestServerHangsUpAtItsEnd(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		_, addr, stop := serving(t, o)
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, get+get[:9]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len(ok))); err != nil {
			t.Fatal(err)
		}
		stop()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is still there")
		}
	})
}

func TestNewRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := New(l, Options{Arrivals: -1}); err == nil || !strings.Contains(err.Error(), "-1 arrivals: want at least 0") {
		t.Errorf("arrivals -1: %v", err)
	}
	if _, err := New(struct{ net.Listener }{l}, Options{}); err == nil || !strings.Contains(err.Error(), "want one of TCP") {
		t.Errorf("another listener: %v", err)
	}
}
