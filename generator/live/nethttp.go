package live

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"time"

	"knee/generator/client"
)

// netHTTP carries requests by net/http, one HTTP/1.1 exchange at a time on each
// connection.
//
// It does not use the connection pool of http.Transport, which sends a request
// again, unasked, when a kept connection turns out to be closed. A
// http.ClientConn is one connection; its RoundTrip sends once. Nor does anything
// here follow redirects, keep cookies, ask for compression or use a proxy.
type netHTTP struct {
	relay
	options  HTTP
	routes   []*httpRoute
	prepared [][]*httpRequest // by Request, then by class
	rules    Rules
	knee     bool
	buffers  sync.Pool // of *reading
	seen     counters

	ctx     context.Context // of all calls
	hangUp  context.CancelFunc
	running sync.WaitGroup
}

// bodyBuffer is how much of a body is read at once.
const bodyBuffer = 16 << 10

func newNetHTTP(o Options, now func() time.Duration) (*netHTTP, error) {
	options, err := o.HTTP.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &netHTTP{
		relay:   newRelay(o.Coarse, now),
		options: options, rules: o.Rules, knee: o.Knee,
	}
	t.buffers.New = func() any {
		return &reading{judge: judge{rules: o.Rules, odd: &t.seen.oddRetry}, buffer: make([]byte, bodyBuffer)}
	}
	all, err := prepareAll(o)
	if err != nil {
		return nil, err
	}
	routes := map[*route]*httpRoute{}
	for _, classes := range all {
		requests := make([]*httpRequest, len(classes))
		for i, p := range classes {
			if requests[i], err = newHTTPRequest(p); err != nil {
				return nil, err
			}
			r := routes[p.route]
			if r == nil {
				r = newHTTPRoute(p.route, options, now, &t.seen)
				routes[p.route] = r
				t.routes = append(t.routes, r)
			}
			requests[i].pool = r.pool
		}
		t.prepared = append(t.prepared, requests)
	}
	t.ctx, t.hangUp = context.WithCancel(context.Background())
	return t, nil
}

func (t *netHTTP) send(c *call) {
	ctx, cancel := context.WithCancel(t.ctx)
	c.carrier = cancel
	t.running.Go(func() {
		c.answer = t.exchange(ctx, c)
		cancel()
		t.post(c)
	})
}

func (t *netHTTP) cancel(c *call) { c.carrier.(context.CancelFunc)() }

// exchange sends c and reads the answer to its end.
func (t *netHTTP) exchange(ctx context.Context, c *call) client.Answer {
	p := t.prepared[c.request][c.arrival.Class]
	n, err := p.pool.get(ctx)
	if err != nil {
		c.done = t.now()
		var network *socketError
		return connectFailure(err, !errors.As(err, &network))
	}
	var interim interimLimit
	req, body := p.of(interim.watch(ctx), c, t.knee)
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
	p.pool.put(n)
	return a
}

// An interimLimit bounds the interim answers to one request, as the other engines
// do. By itself net/http bounds their bytes.
type interimLimit struct{ n int }

var errTooManyInterim = errors.New("too many interim answers")

// watch returns a context in which interim answers are counted.
func (l *interimLimit) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if l.n++; l.n > mostInterim {
				return errTooManyInterim
			}
			return nil
		},
	})
}

// reading is what it takes to read an answer.
type reading struct {
	judge  judge
	buffer []byte
}

// read takes an answer to its end and judges it.
func (t *netHTTP) read(resp *http.Response) (client.Answer, error) {
	defer resp.Body.Close()
	r := t.buffers.Get().(*reading)
	defer t.buffers.Put(r)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the connection, which has no end.
		return r.judge.answer(resp.StatusCode, httpFields(resp.Header), nil), nil
	}
	var start []byte // of the body, as far as the rules look
	for {
		n, err := resp.Body.Read(r.buffer)
		t.seen.bodyBytes.Add(uint64(n))
		if look := t.rules.look(); len(start) < look {
			start = append(start, r.buffer[:min(n, look-len(start))]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return client.Answer{}, err
		}
	}
	return r.judge.answer(resp.StatusCode, httpFields(resp.Header), start), nil
}

func (t *netHTTP) warm(ctx context.Context, n int) error { return t.routes[0].pool.warm(ctx, n) }

func (t *netHTTP) traffic() Traffic { return t.seen.traffic() }

func (t *netHTTP) close() {
	t.hangUp()
	for _, r := range t.routes {
		r.pool.close()
	}
	t.running.Wait()
}
