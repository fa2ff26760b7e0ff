package live

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// HTTP says how connections are opened and used. The zero value is ready for use.
type HTTP struct {
	ConnectTo      []ConnectTo   // the first that fits says where connections go instead
	Unix           string        // path of the unix socket that all connections go to; "" for none
	DNSTTL         time.Duration // age at which addresses of a name are looked up again; default 30s, negative: never
	ConnectTimeout time.Duration // for connecting, and again for the TLS handshake; default 10s
	MaxDials       int           // connections being opened to each server at once; default 64
	MaxConns       int           // connections to one host at once, by the engine H2; default 0: as many as the requests need
	MaxHead        int64         // bytes of the head of an answer, informational ones included; default 64 KiB
	NoKeepAlive    bool          // a connection for every attempt
	TLS            *tls.Config   // of https; nil for the usual checks

	// Dial opens the network connections instead of all this, to the address of the
	// target or of ConnectTo; nil: nothing does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// withDefaults returns h with its zero fields filled in, or an error for a field
// outside its range.
func (h HTTP) withDefaults() (HTTP, error) {
	if h.ConnectTimeout < 0 || h.MaxDials < 0 || h.MaxConns < 0 || h.MaxHead < 0 {
		return h, fmt.Errorf("connect timeout %v, dials %d, connections %d, head %d: want none of them negative", h.ConnectTimeout, h.MaxDials, h.MaxConns, h.MaxHead)
	}
	if h.Unix != "" && len(h.ConnectTo) > 0 {
		return h, errors.New("a unix socket and another host to connect to: want one of them")
	}
	if h.DNSTTL == 0 {
		h.DNSTTL = 30 * time.Second
	}
	if h.ConnectTimeout == 0 {
		h.ConnectTimeout = 10 * time.Second
	}
	if h.MaxDials == 0 {
		h.MaxDials = 64
	}
	if h.MaxHead == 0 {
		h.MaxHead = 64 << 10
	}
	return h, nil
}
