package live

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"knee/generator/host"
)

// Routes are the ways to the servers of a run: where the connections for each
// scheme, host and port of its targets go.
type Routes struct {
	connectTo []ConnectTo
	unused    []bool // of connectTo
	unix      string
	tls       *tls.Config
	ttl       time.Duration // negative: for ever
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	resolve   func(ctx context.Context, name string) ([]netip.Addr, error)
	now       func() time.Time
	sources   *sources

	ctx     context.Context // of look-ups in the background
	stop    context.CancelFunc
	lookUps sync.WaitGroup

	order []*route // as their targets came
	known map[routeKey]*route
}

// A routeKey tells routes apart.
type routeKey struct{ scheme, host, port string }

// NewRoutes returns the ways to targets as h wants them to be. It looks no name
// up. It returns an error for fields of h outside their range.
func NewRoutes(h HTTP, targets ...*Target) (*Routes, error) {
	h, err := h.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Routes{
		connectTo: h.ConnectTo, unix: h.Unix, tls: h.TLS, ttl: h.DNSTTL, dial: h.Dial,
		resolve: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		},
		unused:  slices.Repeat([]bool{true}, len(h.ConnectTo)),
		now:     time.Now,
		sources: newSources(host.Ports()),
		known:   map[routeKey]*route{},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	for _, target := range targets {
		t.add(target)
	}
	return t, nil
}

// add returns the route to a target, a new one where there is none yet.
func (t *Routes) add(target *Target) *route {
	key := routeKey{target.scheme, strings.ToLower(target.host), target.port}
	r := t.known[key]
	if r == nil {
		to := t.hopOf(target)
		r = &route{target: target, table: t, hop: to, named: to.named()}
		t.known[key] = r
		t.order = append(t.order, r)
	}
	return r
}

// hopOf returns where the connections for a target go.
func (t *Routes) hopOf(target *Target) hop {
	if t.unix != "" {
		return hop{path: t.unix}
	}
	h := hop{host: target.host, port: target.port}
	for i, c := range t.connectTo {
		if c.matches(h) {
			t.unused[i] = false
			return c.apply(h)
		}
	}
	return h
}

// Unused returns the indexes of those of HTTP.ConnectTo that no target's
// connections follow.
func (t *Routes) Unused() []int {
	var all []int
	for i, unused := range t.unused {
		if unused {
			all = append(all, i)
		}
	}
	return all
}

// lookUp looks up all names that have not been. An error is kept, for each pick.
func (t *Routes) lookUp(ctx context.Context) {
	if t.dial != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestLookup)
	defer cancel()
	var all sync.WaitGroup
	for _, r := range t.order {
		if len(r.current()) == 0 {
			all.Go(func() { _ = r.lookUp(ctx) })
		}
	}
	all.Wait()
}

// Dial opens a connection to where those for a target go, for what is asked before
// a run. It is not counted.
func (t *Routes) Dial(ctx context.Context, target *Target) (net.Conn, error) {
	c, end, err := t.add(target).dial(ctx)
	if err != nil {
		return nil, err
	}
	return &uncounted{Conn: c, closed: func() { t.sources.give(end) }}, nil
}

// uncounted is a connection whose port is given back when it is closed.
type uncounted struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *uncounted) Close() error {
	defer c.once.Do(c.closed)
	return c.Conn.Close()
}

// close ends look-ups that are under way.
func (t *Routes) close() {
	t.stop()
	t.lookUps.Wait()
}

// Ports returns how many connections the local ports have room for, 0 for as many
// as anybody wants: to 127.0.0.0/8 further ones are opened from 127.0.0.2,
// 127.0.0.3 and so on. It is right after Reach.
func (t *Routes) Ports() int {
	servers := map[endpoint]bool{}
	for _, r := range t.order {
		r.mu.Lock()
		if p := r.choose(t.now()); p != nil {
			servers[p.endpoint] = true
		}
		r.mu.Unlock()
	}
	for e := range servers {
		if e.network != "tcp" || hasSources(e) {
			return 0
		}
	}
	return len(servers) * host.Ports()
}

// places returns the endpoints of a hop.
func (t *Routes) places(ctx context.Context, h hop) ([]*place, error) {
	if h.path != "" {
		return []*place{{endpoint: endpoint{network: "unix", path: h.path}}}, nil
	}
	var addrs []netip.Addr
	if literal, err := netip.ParseAddr(h.host); err == nil {
		literal, err = numberedZone(literal)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, literal)
	} else if addrs, err = t.resolve(ctx, h.host); err != nil {
		return nil, err
	}
	var places []*place
	for _, a := range addrs {
		if a = a.Unmap(); h.loopback() && !a.IsLoopback() {
			continue // permission was given for this machine
		}
		e := endpoint{network: "tcp", addr: netip.AddrPortFrom(a, h.number())}
		if !slices.ContainsFunc(places, func(p *place) bool { return p.endpoint == e }) {
			places = append(places, &place{endpoint: e})
		}
	}
	if len(places) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: h.host, IsNotFound: true}
	}
	return places, nil
}

// numberedZone returns a with the number of its zone, an interface, in place of
// the name: which is what the kernel wants.
func numberedZone(a netip.Addr) (netip.Addr, error) {
	if n, err := strconv.Atoi(a.Zone()); a.Zone() == "" || err == nil && n > 0 {
		return a, nil
	}
	i, err := net.InterfaceByName(a.Zone())
	if err != nil {
		return a, fmt.Errorf("zone %s: no such network interface", a.Zone())
	}
	return a.WithZone(strconv.Itoa(i.Index)), nil
}
