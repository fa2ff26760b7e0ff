package live

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"
)

// A socketError is a failure to open the network connection, as opposed to one
// of the handshake on it.
type socketError struct{ err error }

func (e *socketError) Error() string { return e.err.Error() }
func (e *socketError) Unwrap() error { return e.err }

// dialEndpoint connects to e, from where it says.
func dialEndpoint(ctx context.Context, e endpoint) (net.Conn, error) {
	d := &net.Dialer{}
	if e.local.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: e.local.AsSlice()}
		d.Control = portLater
	}
	return d.DialContext(ctx, e.network, e.String())
}

// dialWithin is dialEndpoint for at most d.
func dialWithin(ctx context.Context, d time.Duration, e endpoint) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return dialEndpoint(ctx, e)
}

// serverName returns the configuration of TLS for a host: its certificate is
// checked against the target's name, whatever address is connected to.
func serverName(c *tls.Config, host string) *tls.Config {
	if c == nil {
		c = &tls.Config{}
	}
	c = c.Clone()
	if c.ServerName == "" {
		c.ServerName, _, _ = strings.Cut(host, "%") // a zone is none of the server's business
	}
	return c
}
