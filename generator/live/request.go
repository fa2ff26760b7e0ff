package live

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"knee/generator/plan"
	"knee/target/wire"
)

// A Request is what is sent to the target.
type Request struct {
	Target *Target     // the server; default Options.Target
	Method string      // default GET
	Path   string      // path and query, sent byte for byte; default those of the target
	Header http.Header // a Host among them replaces the target's
	Body   []byte
	GRPC   bool // a unary call: the engine H2 adds its grpc-timeout and looks at what comes back as one
}

// A prepared request is what all attempts of one Request and one class share,
// checked and complete but for what an engine adds by itself: the length of the
// body.
type prepared struct {
	method string
	target *Target     // whose connections carry it
	route  *route      // to there
	path   string      // path and query, as they go on the wire
	host   string      // of the Host header
	header http.Header // the others, by their canonical names
	body   []byte
	grpc   bool
}

// prepareAll prepares every request for every class.
func prepareAll(o Options) ([][]*prepared, error) {
	requests := o.Requests
	if len(requests) == 0 {
		requests = []Request{{}}
	}
	all := make([][]*prepared, len(requests))
	for i, r := range requests {
		t := cmp.Or(r.Target, o.Target)
		to := o.Routes.add(t)
		for j, c := range o.Client.Classes {
			if j > 0 && !o.Knee { // nobody is told the class
				all[i] = append(all[i], all[i][0])
				continue
			}
			p, err := prepare(r, t, c, o.Knee)
			if err != nil {
				return nil, fmt.Errorf("request %d: %w", i+1, err)
			}
			p.route = to
			all[i] = append(all[i], p)
		}
	}
	return all, nil
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
	if err := checkPath(r.Path); err != nil {
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
	host := t.HostField()
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
	return &prepared{method: r.Method, target: t, path: r.Path, host: host, header: header, body: r.Body, grpc: r.GRPC}, nil
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

// checkPath returns an error for what cannot stand in a request line.
func checkPath(path string) error {
	for i := range len(path) {
		if path[i] <= ' ' || path[i] >= 0x7f || path[i] == '#' {
			return fmt.Errorf("path %q: byte %q at position %d: want printable ASCII without #", path, path[i], i+1)
		}
	}
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("path %q: want it to begin with /", path)
	}
	return nil
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
