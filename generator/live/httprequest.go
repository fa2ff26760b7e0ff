package live

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"knee/target/wire"
)

// An httpRequest is a prepared request for net/http.
type httpRequest struct {
	http http.Request
	body []byte
	pool *pool // whose connections carry it
}

func newHTTPRequest(p *prepared) (*httpRequest, error) {
	u, err := wireURL(p.target, p.path)
	if err != nil {
		return nil, err
	}
	return &httpRequest{
		http: http.Request{
			Method: p.method, URL: u, Host: p.host, Header: p.header,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		},
		body: p.body,
	}, nil
}

// of returns the request of c, and its body if it has one; knee says that our
// own server wants to know of the call.
func (r *httpRequest) of(ctx context.Context, c *call, knee bool) (*http.Request, *upload) {
	req := r.http.WithContext(ctx)
	if knee {
		req.Header = addCall(req.Header, c)
	}
	if len(r.body) == 0 {
		return req, nil
	}
	body := newUpload(r.body)
	req.Body, req.ContentLength = body, int64(len(r.body))
	return req, body
}

// wireURL returns a URL that net/http sends with exactly this path.
func wireURL(t *Target, path string) (*url.URL, error) {
	u := &url.URL{Scheme: t.scheme, Host: t.Address()}
	if !strings.HasPrefix(path, "//") {
		u.Opaque = path
		return u, nil
	}
	// net/http takes an opaque part with two slashes for a host.
	raw, query, hasQuery := strings.Cut(path, "?")
	plain, err := url.PathUnescape(raw)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", path, err)
	}
	u.Path, u.RawPath, u.RawQuery, u.ForceQuery = plain, raw, query, hasQuery
	return u, nil
}

// addCall adds what our own server wants to know of one attempt, to a copy.
func addCall(h http.Header, c *call) http.Header {
	h = maps.Clone(h)
	values := [4]string{
		strconv.FormatUint(uint64(c.arrival.Client), 10),
		strconv.FormatInt(int64(c.arrival.Work), 10),
		string(wire.AppendMillis(nil, c.left)),
		strconv.Itoa(c.number),
	}
	h[wire.Client] = values[0:1:1]
	h[wire.WorkNs] = values[1:2:2]
	h[wire.TimeoutMs] = values[2:3:3]
	h[wire.Attempt] = values[3:4:4]
	return h
}

// An upload is a request body that knows whether it has been taken to its end.
type upload struct {
	rest bytes.Reader
	over atomic.Bool
}

func newUpload(body []byte) *upload {
	u := &upload{}
	u.rest.Reset(body)
	return u
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.rest.Read(p)
	if u.rest.Len() == 0 {
		u.over.Store(true)
	}
	return n, err
}

func (u *upload) Close() error { return nil }
