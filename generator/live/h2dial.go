package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"os"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What we allow the server. It is never to wait for us: bodies are dropped as they
// come.
const (
	h2StreamWindow = 1 << 20 // bytes of one body under way
	h2ConnWindow   = 1 << 30 // of all of a connection
	h2DynamicTable = 4096    // bytes of its HPACK table, the default
)

// dial opens a connection and waits until the server has said what it allows.
func (h *h2Host) dial(ctx context.Context) (*h2Conn, error) {
	t := h.t
	began := t.now()
	c := &h2Conn{
		t: t, host: h, work: make(chan struct{}, 1), gone: make(chan struct{}), nextID: 1,
		streams: map[uint32]*h2Stream{}, limit: noStreamLimit,
		window: 65535, startWindow: 65535, maxFrame: 16384,
	}
	dialing, cancel := context.WithTimeout(ctx, t.options.ConnectTimeout)
	defer cancel()
	socket, end, err := h.route.dial(dialing)
	if err != nil {
		return nil, err
	}
	c.net, c.end = socket, end
	defer context.AfterFunc(ctx, func() { _ = socket.Close() })()
	if err := c.open(ctx); err != nil {
		_ = socket.Close()
		c.left()
		return nil, err
	}
	c.connect = t.now() - began
	return c, nil
}

// open makes a network connection one of HTTP/2.
func (c *h2Conn) open(ctx context.Context) error {
	if err := c.net.SetDeadline(time.Now().Add(c.t.options.ConnectTimeout)); err != nil {
		return err
	}
	if c.host.route.target.scheme == "https" {
		config := serverName(c.t.options.TLS, c.host.route.target.host)
		config.NextProtos = []string{http2.NextProtoTLS}
		secured := tls.Client(c.net, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			return &handshakeError{err}
		}
		if secured.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
			return errNotH2
		}
		c.net = secured
	}
	c.framer = http2.NewFramer(&c.out, bufio.NewReaderSize(c.net, 16<<10))
	c.framer.SetReuseFrames()
	c.framer.SetMaxReadFrameSize(16384)
	c.head = newH2Head(c)
	if err := c.greet(); err != nil {
		return err
	}
	first, err := c.framer.ReadFrame()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case err != nil && !isReset(err):
		return errNotH2
	case err != nil:
		return err
	}
	settings, ok := first.(*http2.SettingsFrame)
	if !ok || settings.IsAck() {
		return errNotH2
	}
	if err := c.settings(settings); err != nil {
		return errNotH2
	}
	return c.net.SetDeadline(time.Time{})
}

// greet sends the preface and what we allow.
func (c *h2Conn) greet() error {
	c.out.WriteString(http2.ClientPreface)
	if err := errors.Join(
		c.framer.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2StreamWindow},
			http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: uint32(min(c.t.options.MaxHead, 1<<30))},
		),
		c.framer.WriteWindowUpdate(0, h2ConnWindow-65535),
	); err != nil {
		return err
	}
	return c.flush()
}

// flush sends what has been put together.
func (c *h2Conn) flush() error {
	defer c.out.Reset()
	_, err := c.net.Write(c.out.Bytes())
	return err
}

// left tells the route that the connection is gone.
func (c *h2Conn) left() { c.host.route.closed(c.end) }

// An h2Head reads the heads of answers: HPACK needs every one of them read, those
// that nobody waits for as well.
type h2Head struct {
	conn    *h2Conn
	decoder *hpack.Decoder
	id      uint32    // of the stream
	stream  *h2Stream // nil when nobody waits for it
	size    int64
	trailer bool
	ends    bool   // it ends its stream
	regular bool   // a field that is none of HTTP/2's own has come
	fault   string // the first thing that is wrong with it
}

func newH2Head(c *h2Conn) *h2Head {
	h := &h2Head{conn: c, decoder: hpack.NewDecoder(h2DynamicTable, nil)}
	h.decoder.SetMaxStringLength(int(c.t.options.MaxHead))
	h.decoder.SetEmitFunc(h.field)
	return h
}
