package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestAddressFamilies is what envoyproxy/nighthawk#613, hatoo/oha#784 and
// fcsonline/drill#126 got wrong: one family was tried and all was refused, where
// others connect. The server listens on 127.0.0.1, or on ::1, alone.
func TestAddressFamilies(t *testing.T) {
	t.Parallel()
	for _, family := range []struct {
		name, listen, other string // the address without its port
		urls                []string
	}{
		{"IPv4", "127.0.0.1", "[::1]", []string{"http://localhost:PORT/x", "http://127.0.0.1:PORT/x"}},
		{"IPv6", "[::1]", "127.0.0.1", []string{"http://[::1]:PORT/x", "http://[::1%25LO]:PORT/x"}},
	} {
		t.Run(family.name, func(t *testing.T) {
			l := alone(t, family.listen, family.other)
			var requests atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if strings.Contains(r.Host, "%") || r.RequestURI != "/x" {
					t.Errorf("the server saw %s of %s", r.RequestURI, r.Host)
				}
			}))
			server.Listener.Close()
			server.Listener = l
			server.Start()
			t.Cleanup(server.Close)
			_, port, _ := net.SplitHostPort(l.Addr().String())
			for _, url := range family.urls {
				before := requests.Load()
				sends(t, t.TempDir(), "--url", strings.NewReplacer("PORT", port, "LO", loopback(t)).Replace(url))
				if n := requests.Load() - before; n != 20 {
					t.Errorf("%s: %d requests, want 20", url, n)
				}
			}
			before, began := requests.Load(), time.Now()
			out, stderr, code := knee(t, t.TempDir(), "find", "--url", "http://"+family.other+":"+port+"/x")
			if code != 3 || out != "" || !strings.Contains(stderr, family.other+":"+port+": ") || !strings.Contains(stderr, "refused") {
				t.Errorf("exit code %d, stdout %q, stderr %q: want 3 and who refused", code, out, stderr)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v to say that nobody listens", took)
			}
			if requests.Load() != before {
				t.Error("requests were sent to the other family")
			}
		})
	}
}

// alone listens on a port of an address which nobody listens on at the other.
func alone(t *testing.T, address, other string) net.Listener {
	t.Helper()
	for range 10 {
		l, err := net.Listen("tcp", address+":0")
		if err != nil {
			t.Skipf("this machine has no %s: %v", address, err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		c, err := net.Dial("tcp", other+":"+port)
		if err != nil {
			return l
		}
		c.Close()
		l.Close()
	}
	t.Skip("every port is taken on the other family")
	return nil
}

// loopback returns the name of the interface that ::1 is on.
func loopback(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name
		}
	}
	t.Skip("no loopback interface")
	return ""
}

// TestNeitherFamily holds that all addresses of a name are tried, and named.
func TestNeitherFamily(t *testing.T) {
	t.Parallel()
	began := time.Now()
	out, stderr, code := knee(t, t.TempDir(), "find", "--url", "http://localhost:1/")
	if code != 3 || out != "" || !strings.Contains(stderr, "refused") {
		t.Errorf("exit code %d, stdout %q, stderr %q: want 3", code, out, stderr)
	}
	addrs, err := net.LookupIP("localhost")
	if err != nil {
		t.Skip(err)
	}
	for _, a := range addrs {
		if !strings.Contains(stderr, net.JoinHostPort(a.String(), "1")) {
			t.Errorf("%q: want %v in it", stderr, a)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to say that nobody listens", took)
	}
}
