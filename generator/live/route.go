package live

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// An endpoint is a place to connect to, and where from.
type endpoint struct {
	network string // tcp or unix
	addr    netip.AddrPort
	path    string     // of a unix socket
	local   netip.Addr // to connect from; the zero value leaves the choice to the kernel
}

// A route knows the endpoints of one host and port. Any goroutine may use it.
type route struct {
	mu        sync.Mutex
	endpoints []endpoint
	next      int // which of them is tried next
	err       error
}

// longestLookup bounds how long a name may take to resolve.
const longestLookup = 5 * time.Second

// newRoute returns the way to an address, host:port. A name that cannot be
// resolved is an error of each pick.
func newRoute(address string) *route {
	r := &route{}
	ctx, cancel := context.WithTimeout(context.Background(), longestLookup)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		r.err = err
		return r
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		r.err = err
		return r
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, a := range addrs {
		r.endpoints = append(r.endpoints, endpoint{network: "tcp", addr: netip.AddrPortFrom(a.Unmap(), uint16(number))})
	}
	if r.err = err; len(addrs) == 0 && err == nil {
		r.err = errors.New("no address")
	}
	return r
}

// pick returns the endpoint to connect to next.
func (r *route) pick() (endpoint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.endpoints) == 0 {
		return endpoint{}, r.err
	}
	return r.endpoints[r.next], nil
}

// failed tells r that no connection to e could be opened.
func (r *route) failed(e endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endpoints[r.next] == e {
		r.next = (r.next + 1) % len(r.endpoints)
	}
}

// opened and closed tell r that a connection to e came and went.
func (r *route) opened(endpoint) {}

func (r *route) closed(endpoint) {}
