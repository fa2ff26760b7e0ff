package live

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func to(addr string) endpoint {
	return endpoint{network: "tcp", addr: netip.MustParseAddrPort(addr)}
}

// take returns the address that the next connection to e comes from, and e with it.
func take(s *sources, e endpoint, now time.Time) (string, endpoint) {
	e.local = s.take(e, now)
	if !e.local.IsValid() {
		return "", e
	}
	return e.local.String(), e
}

func TestSourcesAreUsedOneAfterTheOther(t *testing.T) {
	s, now := newSources(3), time.Unix(1e9, 0)
	here := to("127.0.0.1:80")
	var taken []endpoint
	for i, want := range []string{"", "", "", "127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3"} {
		got, e := take(s, here, now)
		if got != want {
			t.Fatalf("connection %d comes from %q: want %q", i+1, got, want)
		}
		taken = append(taken, e)
	}
	s.give(taken[4])
	s.give(taken[1])
	for i, want := range []string{"", "127.0.0.2", "127.0.0.3"} {
		if got, _ := take(s, here, now); got != want {
			t.Errorf("after two are gone, connection %d comes from %q: want %q", i+1, got, want)
		}
	}
	if got, _ := take(s, to("127.0.0.1:81"), now); got != "" {
		t.Errorf("a connection to another port comes from %s: want no choice", got)
	}
}

func TestATenthOfThePortsIsLeft(t *testing.T) {
	s := newSources(100)
	n := 0
	for got := ""; got == ""; n++ {
		got, _ = take(s, to("127.0.0.1:80"), time.Unix(1e9, 0))
	}
	if n != 91 {
		t.Errorf("connection %d is the first from another address: want 91", n)
	}
}

func TestSourceWithoutPortsIsPassedOver(t *testing.T) {
	s, now := newSources(10), time.Unix(1e9, 0)
	_, e := take(s, to("127.0.0.1:80"), now)
	s.full(e, now)
	s.give(e)
	if got, _ := take(s, e, now); got != "127.0.0.2" {
		t.Errorf("comes from %q: want 127.0.0.2", got)
	}
	if got, _ := take(s, e, now.Add(passedOver)); got != "" {
		t.Errorf("a second later it comes from %q: want the first again", got)
	}
}

func TestOthersHaveOneSource(t *testing.T) {
	for name, e := range map[string]endpoint{
		"another machine": to("192.0.2.1:80"),
		"IPv6":            to("[::1]:80"),
		"unix socket":     {network: "unix", path: "/run/x"},
	} {
		s := newSources(1)
		for range 3 {
			if got, _ := take(s, e, time.Time{}); got != "" {
				t.Errorf("%s: comes from %s: want no choice", name, got)
			}
		}
	}
	s := newSources(0) // where the number of ports is not known
	for range 3 {
		if got, _ := take(s, to("127.0.0.1:80"), time.Time{}); got != "" {
			t.Errorf("ports not known: comes from %s: want no choice", got)
		}
	}
}

func TestSourcesEnd(t *testing.T) {
	s := newSources(1)
	last := ""
	for range mostSources {
		last, _ = take(s, to("127.0.0.1:80"), time.Unix(1e9, 0))
	}
	if last != "127.0.0.250" {
		t.Errorf("the last address is %s: want 127.0.0.250", last)
	}
	if got, _ := take(s, to("127.0.0.1:80"), time.Unix(1e9, 0)); got != "" {
		t.Errorf("comes from %s when all are full: want no choice", got)
	}
}

// No address has more connections than it has room for, and what is given back is
// there again.
func TestSourcesAreCounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(rt, "most")
		s, now := newSources(most), time.Unix(1e9, 0)
		var open []endpoint
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(rt, "give") {
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				s.give(open[i])
				open = append(open[:i], open[i+1:]...)
				continue
			}
			_, e := take(s, to("127.0.0.1:80"), now)
			open = append(open, e)
			count := map[netip.Addr]int{}
			for _, o := range open {
				if count[o.local]++; count[o.local] > most {
					rt.Fatalf("%d connections from %v: want at most %d", count[o.local], o.local, most)
				}
			}
		}
	})
}

// More connections stand than there is room for from one address, with every
// engine, and none is opened in vain.
func TestConnectionsBeyondThePorts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8")
	}
	overPlain(t, func(t *testing.T, engine Engine) {
		from := make(chan string, 20)
		s := serveRaw(t, func(c *net.TCPConn) {
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			from <- host
			_, _ = c.Read(make([]byte, 1)) // until the client hangs up
		})
		target, err := ParseTarget(s.url)
		if err != nil {
			t.Fatal(err)
		}
		routes, err := NewRoutes(HTTP{}, target)
		if err != nil {
			t.Fatal(err)
		}
		routes.sources = newSources(4)
		d, _, _ := trip{url: s.url, rate: 1, length: time.Second, options: Options{Engine: engine, Routes: routes}}.start(t)
		defer d.Close()
		if err := d.Warm(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for range 10 {
			count[<-from]++
		}
		if count["127.0.0.1"] != 4 || count["127.0.0.2"] != 4 || count["127.0.0.3"] != 2 {
			t.Errorf("connections by address: %v: want 4, 4 and 2", count)
		}
	})
}

func TestNoPortIsNoFailure(t *testing.T) {
	if got := notSent(&net.OpError{Op: "dial", Err: syscall.EADDRNOTAVAIL}); got != Ports {
		t.Errorf("%q: want %s", got, Ports)
	}
	if got := notSent(errors.New("x")); got != "" {
		t.Errorf("%q: want nothing", got)
	}
}
