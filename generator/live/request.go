package live

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"knee/generator/plan"
	"knee/target/wire"
)

// A Request is what is sent to the target.
type Request struct {
	Method string      // default GET
	Path   string      // path and query, sent byte for byte; default those of the target
	Header http.Header // a Host among them replaces the target's
	Body   []byte
}

// A prepared request is what all attempts of one Request and one class share.
type prepared struct {
	http http.Request
	body []byte
}

// prepare returns r as it goes to t, with the headers that class always brings.
func prepare(r Request, t *Target, class plan.Class, knee bool) (*prepared, error) {
	if knee && len(r.Body) == 0 && class.Bytes > 0 {
		r.Body, r.Method = make([]byte, class.Bytes), cmp.Or(r.Method, http.MethodPost)
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Path == "" {
		r.Path = t.path
	}
	u, err := wireURL(t, r.Path)
	if err != nil {
		return nil, err
	}
	if !isToken(r.Method) {
		return nil, fmt.Errorf("method %q: want a word such as GET or POST", r.Method)
	}
	if err := checkHeader(r.Header); err != nil {
		return nil, err
	}
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	host := t.given
	if h := header.Get("Host"); h != "" {
		host = h
		header.Del("Host")
	}
	if t.user != nil && header.Get("Authorization") == "" {
		password, _ := t.user.Password()
		pair := t.user.Username() + ":" + password
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "knee")
	}
	if knee {
		addClass(header, class)
	}
	return &prepared{
		http: http.Request{
			Method: r.Method, URL: u, Host: host, Header: header,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		},
		body: r.Body,
	}, nil
}

// checkHeader returns an error for a header that HTTP does not allow. It does not
// show values, which may be secrets.
func checkHeader(h http.Header) error {
	for name, values := range h {
		if !isToken(name) {
			return fmt.Errorf("header %q: want the name of an HTTP header", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("header %s: its value holds a control character: want none", name)
			}
		}
	}
	return nil
}

// isToken reports whether s can be a method or the name of a header: RFC 9110,
// section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// wireURL returns a URL that net/http sends with exactly this path.
func wireURL(t *Target, path string) (*url.URL, error) {
	for i := range len(path) {
		if path[i] <= ' ' || path[i] >= 0x7f || path[i] == '#' {
			return nil, fmt.Errorf("path %q: byte %q at position %d: want printable ASCII without #", path, path[i], i+1)
		}
	}
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("path %q: want it to begin with /", path)
	}
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

// addClass adds what our own server wants to know of a class.
func addClass(h http.Header, c plan.Class) {
	h.Set(wire.Class, c.Name)
	if c.Tenant != "" {
		h.Set(wire.Tenant, c.Tenant)
	}
	if name := wire.CriticalityName(c.Criticality); name != "" {
		h.Set(wire.Criticality, name)
	}
	if c.Cost > 0 {
		h.Set(wire.Cost, strconv.FormatFloat(c.Cost, 'g', -1, 64))
	}
	if c.Protected {
		h.Set(wire.Protected, "1")
	}
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
