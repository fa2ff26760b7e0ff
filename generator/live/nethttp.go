package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/target/wire"
)

// netHTTP carries requests by net/http, one HTTP/1.1 exchange at a time on each
// connection.
//
// It does not use the connection pool of http.Transport, which sends a request
// again, unasked, when a kept connection turns out to be closed. A
// http.ClientConn is one connection; its RoundTrip sends once. Nor does anything
// here follow redirects, keep cookies, ask for compression or use a proxy.
type netHTTP struct {
	options   HTTP
	scheme    string
	dialer    *http.Transport
	pool      *pool
	prepared  [][]*prepared // by Request, then by class
	rules     Rules
	knee      bool
	now       func() time.Duration
	inbox     *inbox
	buffers   sync.Pool // of *[]byte
	bodyBytes atomic.Uint64
	oddRetry  atomic.Uint64

	ctx     context.Context // of all calls
	hangUp  context.CancelFunc
	running sync.WaitGroup
}

// bodyBuffer is how much of a body is read at once.
const bodyBuffer = 16 << 10

func newNetHTTP(o Options, now func() time.Duration, in *inbox) (*netHTTP, error) {
	options, err := o.HTTP.withDefaults(o.Target)
	if err != nil {
		return nil, err
	}
	t := &netHTTP{
		options: options, scheme: o.Target.scheme, rules: o.Rules, knee: o.Knee,
		now: now, inbox: in,
		buffers: sync.Pool{New: func() any { b := make([]byte, bodyBuffer); return &b }},
	}
	if t.prepared, err = prepareAll(o.Requests, o.Target, o.Client.Classes, o.Knee); err != nil {
		return nil, err
	}
	t.dialer = &http.Transport{
		DialContext:            t.dialSocket,
		TLSClientConfig:        serverName(options.TLS, o.Target.host),
		TLSHandshakeTimeout:    options.ConnectTimeout,
		DisableCompression:     true,
		DisableKeepAlives:      options.NoKeepAlive,
		MaxResponseHeaderBytes: options.MaxHead,
		ExpectContinueTimeout:  time.Second,
		Protocols:              new(http.Protocols),
	}
	t.dialer.Protocols.SetHTTP1(true)
	t.pool = newPool(t.dial, options.MaxDials, now)
	t.ctx, t.hangUp = context.WithCancel(context.Background())
	return t, nil
}

// prepareAll prepares every request for every class.
func prepareAll(requests []Request, t *Target, classes []plan.Class, knee bool) ([][]*prepared, error) {
	if len(requests) == 0 {
		requests = []Request{{}}
	}
	all := make([][]*prepared, len(requests))
	for i, r := range requests {
		for _, c := range classes {
			p, err := prepare(r, t, c, knee)
			if err != nil {
				return nil, fmt.Errorf("request %d: %w", i+1, err)
			}
			all[i] = append(all[i], p)
		}
	}
	return all, nil
}

func (t *netHTTP) send(c *call) {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(t.ctx)
	t.running.Go(func() {
		c.answer = t.exchange(ctx, c)
		c.cancel()
		t.inbox.post(c)
	})
}

// exchange sends c and reads the answer to its end.
func (t *netHTTP) exchange(ctx context.Context, c *call) client.Answer {
	n, err := t.pool.get(ctx)
	if err != nil {
		c.done = t.now()
		var network *socketError
		return connectFailure(err, !errors.As(err, &network))
	}
	p := t.prepared[c.arrival.Seq%uint64(len(t.prepared))][c.arrival.Class]
	req, body := t.request(ctx, p, c)
	began, sent, received := t.now(), n.socket.out.Load(), n.socket.in.Load()
	kept := (n.used || n.rested) && !t.knee // our own server gives up no connection while it is idle

	resp, err := n.http.RoundTrip(req)
	head := err == nil
	var a client.Answer
	if head {
		a, err = t.read(resp)
	}
	c.done = t.now()
	if err != nil {
		a = client.Answer{Result: client.Failed, Reason: evidence{
			err:      err,
			gone:     n.socket.gone(),
			sent:     n.socket.out.Load() - sent,
			received: n.socket.in.Load() - received,
			head:     head,
			uploaded: body == nil || body.over.Load(),
			kept:     kept,
			took:     c.done - began,
			connect:  n.connect,
		}.kind()}
	}
	n.used = true
	t.pool.put(n)
	return a
}

// request returns the HTTP request of c, and its body if it has one.
func (t *netHTTP) request(ctx context.Context, p *prepared, c *call) (*http.Request, *upload) {
	req := p.http.WithContext(ctx)
	if t.knee {
		req.Header = addCall(req.Header, c)
	}
	if len(p.body) == 0 {
		return req, nil
	}
	body := newUpload(p.body)
	req.Body, req.ContentLength = body, int64(len(p.body))
	return req, body
}

// read takes an answer to its end and judges it.
func (t *netHTTP) read(resp *http.Response) (client.Answer, error) {
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the connection, which has no end.
		return t.rules.judge(resp.StatusCode, resp.Header, nil), nil
	}
	buffer := t.buffers.Get().(*[]byte)
	defer t.buffers.Put(buffer)
	var start []byte // of the body, as far as the rules look
	for {
		n, err := resp.Body.Read(*buffer)
		t.bodyBytes.Add(uint64(n))
		if look := t.rules.look(); len(start) < look {
			start = append(start, (*buffer)[:min(n, look-len(start))]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return client.Answer{}, err
		}
	}
	a := t.rules.judge(resp.StatusCode, resp.Header, start)
	if a.Result != client.OK {
		a.RetryAfter = t.retryAfter(resp.Header)
		a.NoRetry = resp.Header.Get(wire.Retry) == "no"
	}
	a.Credits, a.Granted = credits(resp.Header)
	return a, nil
}

// longestRetryAfter caps what a server may ask for.
const longestRetryAfter = 24 * time.Hour

// retryAfter returns how long the server asks the caller to wait; 0 when it does
// not say so, or not in a way that can be read, which is counted.
func (t *netHTTP) retryAfter(h http.Header) time.Duration {
	if ms := h.Get(wire.RetryAfterMs); ms != "" {
		if d, ok := wire.ParseMillis(ms); ok {
			return min(d, longestRetryAfter)
		}
	}
	values := h[wire.RetryAfter]
	if len(values) == 0 {
		return 0
	}
	d, ok := wire.ParseRetryAfter(values[0], time.Now().Unix())
	if !ok {
		t.oddRetry.Add(1)
	}
	return min(d, longestRetryAfter)
}

// credits returns how many attempts the caller may have open from now on, if the
// server says so in a way that can be read.
func credits(h http.Header) (n int, granted bool) {
	values := h[wire.Credits]
	if len(values) == 0 {
		return 0, false
	}
	u, err := strconv.ParseUint(values[0], 10, 31)
	return int(u), err == nil
}

func (t *netHTTP) warm(ctx context.Context, n int) error { return t.pool.warm(ctx, n) }

func (t *netHTTP) traffic() Traffic {
	seen := t.pool.seen()
	seen.BodyBytes, seen.OddRetry = t.bodyBytes.Load(), t.oddRetry.Load()
	return seen
}

func (t *netHTTP) close() {
	t.hangUp()
	t.pool.close()
	t.running.Wait()
}
