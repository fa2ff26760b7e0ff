package live

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A nameServer knows one name, and a clock that tests move.
type nameServer struct {
	mu    sync.Mutex
	addrs []string
	err   error
	asked int
	time  time.Time
}

func (n *nameServer) resolve(context.Context, string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	var addrs []netip.Addr
	for _, a := range n.addrs {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, n.err
}

func (n *nameServer) now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.time
}

// pass moves the clock.
func (n *nameServer) pass(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.time = n.time.Add(d)
}

// becomes changes what the name means.
func (n *nameServer) becomes(err error, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addrs, n.err = addrs, err
}

// routeTo returns a route to a name with these addresses.
func routeTo(t testing.TB, h HTTP, addrs ...string) (*route, *nameServer) {
	t.Helper()
	target, err := ParseTarget("http://server.test:80")
	if err != nil {
		t.Fatal(err)
	}
	routes, err := NewRoutes(h, target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(routes.close)
	n := &nameServer{addrs: addrs, time: time.Unix(1e9, 0)}
	routes.resolve, routes.now = n.resolve, n.now
	routes.lookUp(context.Background())
	return routes.order[0], n
}

// picked returns the address that is next.
func picked(t testing.TB, r *route) string {
	t.Helper()
	e, err := r.pick()
	if err != nil {
		t.Fatal(err)
	}
	return e.addr.Addr().String()
}

// outcome tells r how connecting to an address went.
func outcome(r *route, addr string, err error) {
	e := endpoint{network: "tcp", addr: netip.AddrPortFrom(netip.MustParseAddr(addr), 80)}
	if err != nil {
		r.failed(e, err)
	} else {
		r.opened(e)
	}
}

func wantPicks(t testing.TB, r *route, want ...string) {
	t.Helper()
	for i, w := range want {
		if got := picked(t, r); got != w {
			t.Fatalf("pick %d is %s: want %s of %v", i+1, got, w, want)
		}
	}
}

const (
	six    = "2001:db8::1"
	four   = "192.0.2.1"
	second = "192.0.2.2"
)

func TestAddressesTakeTurns(t *testing.T) {
	r, _ := routeTo(t, HTTP{}, four, six, second)
	wantPicks(t, r, four, second, four, second)
}

func TestTheFamilyThatWorksIsKept(t *testing.T) {
	r, n := routeTo(t, HTTP{}, six, four)
	wantPicks(t, r, six, six)
	outcome(r, six, syscall.ENETUNREACH)
	wantPicks(t, r, four)
	outcome(r, four, nil)
	wantPicks(t, r, four, four)
	n.pass(2 * passedOverFresh)
	wantPicks(t, r, four, four)
	outcome(r, four, syscall.ECONNREFUSED)
	wantPicks(t, r, six)
	outcome(r, six, nil)
	wantPicks(t, r, six, six)
}

// A server that is overloaded is measured where it is: what has never worked is
// no way out.
func TestFailuresOfAnAddressThatWorksStayThere(t *testing.T) {
	r, _ := routeTo(t, HTTP{}, six, four)
	outcome(r, six, syscall.ECONNREFUSED)
	outcome(r, four, nil)
	for range 10 {
		wantPicks(t, r, four)
		outcome(r, four, syscall.ETIMEDOUT)
	}
}

func TestAddressThatFailsIsPassedOverForASecond(t *testing.T) {
	r, n := routeTo(t, HTTP{}, four, second)
	outcome(r, four, nil)
	outcome(r, second, nil)
	outcome(r, four, syscall.ECONNREFUSED)
	wantPicks(t, r, second, second)
	n.pass(passedOver)
	wantPicks(t, r, four, second)
}

// What this machine lacks says nothing of an address.
func TestLocalFaultsAreNoAddresss(t *testing.T) {
	r, _ := routeTo(t, HTTP{}, four, second)
	for _, err := range []error{syscall.EMFILE, syscall.EADDRNOTAVAIL} {
		outcome(r, four, err)
		wantPicks(t, r, four, second)
	}
}

func TestNamesAreLookedUpAgain(t *testing.T) {
	r, n := routeTo(t, HTTP{DNSTTL: 30 * time.Second}, four)
	later := func(d time.Duration, asked int) {
		t.Helper()
		n.pass(d)
		_, _ = r.pick()
		r.table.lookUps.Wait()
		if n.asked != asked {
			t.Fatalf("looked up %d times: want %d", n.asked, asked)
		}
	}
	later(29*time.Second, 1)
	n.becomes(nil, second)
	later(time.Second, 2)
	wantPicks(t, r, second)
	later(29*time.Second, 2)

	// The last good answer is kept when there is no other, and another is asked for.
	n.becomes(errors.New("no answer"))
	later(time.Second, 3)
	wantPicks(t, r, second)
	n.becomes(nil, four)
	later(lookAgain, 4)
	wantPicks(t, r, four)
}

func TestNamesAreNotLookedUpForEver(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"default": 0, "never": -1} {
		r, n := routeTo(t, HTTP{DNSTTL: ttl}, four)
		n.pass(time.Hour)
		picked(t, r)
		r.table.lookUps.Wait()
		if again := n.asked == 2; again != (ttl == 0) {
			t.Errorf("%s: looked up %d times", name, n.asked)
		}
	}
}

// What is known of an address outlives the look-up.
func TestLookingUpForgetsNoAddress(t *testing.T) {
	r, n := routeTo(t, HTTP{}, six, four)
	outcome(r, six, syscall.ECONNREFUSED)
	outcome(r, four, nil)
	n.pass(30 * time.Second)
	picked(t, r)
	r.table.lookUps.Wait()
	wantPicks(t, r, four, four)
}

func TestNameThatCannotBeResolved(t *testing.T) {
	r, n := routeTo(t, HTTP{})
	if _, err := r.pick(); connectKind(err, false) != DNS {
		t.Fatalf("error %v: want one of kind %s", err, DNS)
	}
	n.becomes(nil, four)
	n.pass(lookAgain)
	_, _ = r.pick()
	r.table.lookUps.Wait()
	wantPicks(t, r, four)
}

// Permission to load this machine is not permission to load what its name is
// said to mean.
func TestLocalNamesStayLocal(t *testing.T) {
	target, err := ParseTarget("http://api.localhost:80")
	if err != nil {
		t.Fatal(err)
	}
	routes, err := NewRoutes(HTTP{}, target)
	if err != nil {
		t.Fatal(err)
	}
	n := &nameServer{addrs: []string{four, "127.0.0.1", six, "::1"}}
	routes.resolve = n.resolve
	routes.lookUp(context.Background())
	var addrs []string
	for _, p := range routes.order[0].places {
		addrs = append(addrs, p.addr.Addr().String())
	}
	if len(addrs) != 2 || addrs[0] != "127.0.0.1" || addrs[1] != "::1" {
		t.Errorf("leads to %v: want 127.0.0.1 and ::1", addrs)
	}
}

func TestRoutesAreShared(t *testing.T) {
	var targets []*Target
	for _, url := range []string{"http://a:80/x", "http://A/y", "https://a:80", "http://a:81", "http://b"} {
		target, err := ParseTarget(url)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, target)
	}
	routes, err := NewRoutes(HTTP{}, targets...)
	if err != nil {
		t.Fatal(err)
	}
	if len(routes.order) != 4 || routes.add(targets[0]) != routes.add(targets[1]) {
		t.Errorf("%d routes: want 4, one for the first two", len(routes.order))
	}
}

// Whatever happens to its addresses, a route leads to one of them, and to one that
// worked rather than to one that did not.
func TestRouteAlwaysLeadsSomewhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		addrs := []string{six, four, second, "2001:db8::2"}[:rapid.IntRange(1, 4).Draw(rt, "addresses")]
		r, n := routeTo(t, HTTP{}, addrs...)
		good := map[string]bool{} // that have worked and not failed since
		for range rapid.IntRange(1, 50).Draw(rt, "picks") {
			addr := picked(t, r)
			if len(good) > 0 && !good[addr] {
				r.table.lookUps.Wait() // they change what is picked next, not what is known
				if p := r.placeOf(endpoint{network: "tcp", addr: netip.AddrPortFrom(netip.MustParseAddr(addr), 80)}); !p.usable(n.now()) {
					rt.Fatalf("picked %s, which is passed over, with %v at hand", addr, good)
				}
			}
			if rapid.Bool().Draw(rt, "works") {
				good[addr] = true
				outcome(r, addr, nil)
			} else {
				delete(good, addr)
				outcome(r, addr, syscall.ECONNREFUSED)
			}
			n.pass(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second / 10)
		}
	})
}

func TestDialFollowsTheRoute(t *testing.T) {
	s := serveRaw(t, func(*net.TCPConn) {})
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	target, err := ParseTarget("http://server.test:" + port)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := NewRoutes(HTTP{}, target)
	if err != nil {
		t.Fatal(err)
	}
	n := &nameServer{addrs: []string{"::1", "127.0.0.1"}}
	routes.resolve = n.resolve
	routes.lookUp(t.Context())
	r := routes.order[0]
	if _, _, err := r.dial(t.Context()); err == nil {
		t.Fatal("want an error: nobody listens at ::1")
	}
	c, e, err := r.dial(t.Context())
	if err != nil || e.String() != "127.0.0.1:"+port {
		t.Fatalf("%v, error %v: want the address of the other family", e, err)
	}
	c.Close()
	r.closed(e)
}

func TestPickAllocatesNothing(t *testing.T) {
	r, _ := routeTo(t, HTTP{}, "127.0.0.1", "::1")
	if n := testing.AllocsPerRun(100, func() {
		e, _ := r.pick()
		r.opened(e)
		r.closed(e)
	}); n != 0 {
		t.Errorf("%v allocations for a connection: want none", n)
	}
}
