package live

import (
	"context"
	"crypto/tls"
	"net"
)

// A socketError is a failure to open the network connection, as opposed to one
// of the handshake on it.
type socketError struct{ err error }

func (e *socketError) Error() string { return e.err.Error() }
func (e *socketError) Unwrap() error { return e.err }

// socketKey is the key of the *socket that dialSocket fills in for dial.
type socketKey struct{}

// dial opens a connection to the server, ready for requests.
func (t *netHTTP) dial(ctx context.Context) (*conn, error) {
	s := &socket{}
	c, err := t.dialer.NewClientConn(context.WithValue(ctx, socketKey{}, s), t.scheme, t.options.Address)
	if err != nil {
		return nil, err
	}
	return &conn{http: c, socket: s}, nil
}

// dialSocket opens a network connection for http.Transport.
func (t *netHTTP) dialSocket(ctx context.Context, network, address string) (net.Conn, error) {
	dialing, cancel := context.WithTimeout(ctx, t.options.ConnectTimeout)
	defer cancel()
	c, err := t.options.Dial(dialing, network, address)
	if err != nil {
		return nil, &socketError{err}
	}
	s := ctx.Value(socketKey{}).(*socket)
	s.Conn, s.closed = c, func() { t.seen.open.Add(-1) }
	t.seen.open.Add(1)
	return s, nil
}

// serverName returns the configuration of TLS for a host: its certificate is
// checked against the target's name, whatever address is connected to.
func serverName(c *tls.Config, host string) *tls.Config {
	if c == nil {
		c = &tls.Config{}
	}
	c = c.Clone()
	if c.ServerName == "" {
		c.ServerName = host
	}
	return c
}
