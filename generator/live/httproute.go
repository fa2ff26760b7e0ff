package live

import (
	"context"
	"net"
	"net/http"
	"time"
)

// An httpRoute opens the connections of net/http to one server, and keeps them.
type httpRoute struct {
	route   *route
	options HTTP
	dialer  *http.Transport
	pool    *pool
	seen    *counters
}

// newHTTPRoute returns the connections to where r leads, none so far.
func newHTTPRoute(r *route, o HTTP, now func() time.Duration, seen *counters) *httpRoute {
	h := &httpRoute{route: r, options: o, seen: seen}
	h.dialer = &http.Transport{
		DialContext:            h.dialSocket,
		TLSClientConfig:        serverName(o.TLS, r.target.host),
		TLSHandshakeTimeout:    o.ConnectTimeout,
		DisableCompression:     true,
		DisableKeepAlives:      o.NoKeepAlive,
		MaxResponseHeaderBytes: o.MaxHead,
		ExpectContinueTimeout:  time.Second,
		Protocols:              new(http.Protocols),
	}
	h.dialer.Protocols.SetHTTP1(true)
	h.pool = newPool(h.dial, o.MaxDials, now, seen)
	return h
}

// socketKey is the key of the *socket that dialSocket fills in for dial.
type socketKey struct{}

// dial opens a connection to the server, ready for requests.
func (h *httpRoute) dial(ctx context.Context) (*conn, error) {
	s := &socket{}
	c, err := h.dialer.NewClientConn(context.WithValue(ctx, socketKey{}, s), h.route.target.scheme, h.route.target.Address())
	if err != nil {
		return nil, err
	}
	return &conn{http: c, socket: s}, nil
}

// dialSocket opens a network connection for http.Transport.
func (h *httpRoute) dialSocket(ctx context.Context, _, _ string) (net.Conn, error) {
	dialing, cancel := context.WithTimeout(ctx, h.options.ConnectTimeout)
	defer cancel()
	c, end, err := h.route.dial(dialing)
	if err != nil {
		return nil, &socketError{err}
	}
	s := ctx.Value(socketKey{}).(*socket)
	s.Conn, s.closed = c, func() {
		h.seen.open.Add(-1)
		h.route.closed(end)
	}
	h.seen.open.Add(1)
	return s, nil
}
