package cli

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"knee/ci/verdict"
	"knee/generator/live"
	"knee/generator/targets"
)

const (
	defaultVariants = 4096
	defaultDNSTTL   = 30 * time.Second
)

// An outgoing is what is sent to servers that are not ours.
type outgoing struct {
	targets  []*live.Target       // the servers, each at least once
	requests []live.Request       // none for a call: see callOptions
	order    func(seq uint64) int // nil: one after the other
}

// secure reports whether all servers are spoken to over TLS, and plain whether
// none is.
func (out *outgoing) secure() (secure, plain bool) {
	tls := func(t *live.Target) bool { return t.Secure() }
	return !slices.ContainsFunc(out.targets, func(t *live.Target) bool { return !t.Secure() }), !slices.ContainsFunc(out.targets, tls)
}

// remote says whether the load goes to a server that is not ours.
func (o *runOptions) remote() bool { return o.url != "" || o.request.targets != "" }

// checkTargets refuses flags that do not go together.
func (o *requestOptions) checkTargets() error {
	switch {
	case o.call.call != "" && o.targets != "":
		return fail(verdict.CodeUsage, "--targets with --call: the messages of a call are --data; want one of them")
	case o.call.call != "" && o.template:
		return fail(verdict.CodeUsage, "--template with --call: the messages of a call are --data; want one of them")
	case !o.template && o.variants.given:
		return fail(verdict.CodeUsage, "--variants without --template: want both")
	case o.template && (o.variants.of < 1 || o.variants.of > targets.MaxVariants):
		return fail(verdict.CodeUsage, "--variants %d: want 1 to %d", o.variants.of, targets.MaxVariants)
	}
	return nil
}

// network returns how connections are opened.
func (o *requestOptions) network() (live.HTTP, error) {
	h := live.HTTP{Unix: o.unix, DNSTTL: o.dnsTTL.of, MaxConns: o.conns, TLS: o.tls()}
	if h.DNSTTL == 0 {
		h.DNSTTL = -1
	}
	for _, text := range o.connect {
		c, err := live.ParseConnectTo(text)
		if err != nil {
			return h, fail(verdict.CodeUsage, "--connect-to %w", err)
		}
		h.ConnectTo = append(h.ConnectTo, c)
	}
	switch {
	case o.unix != "" && len(o.connect) > 0:
		return h, fail(verdict.CodeUsage, "--unix-socket with --connect-to: want one of them")
	case o.unix != "" && o.dnsTTL.given:
		return h, fail(verdict.CodeUsage, "--unix-socket with --dns-ttl: no name is looked up; want one of them")
	}
	return h, nil
}

// outgoing returns what is sent. What is random in it follows from the seed.
func (o *runOptions) outgoing(seed uint64, stdin io.Reader) (*outgoing, error) {
	var base *live.Target
	if o.url != "" && (o.request.targets != "" || !o.request.template) {
		var err error
		if base, err = live.ParseTarget(o.url); err != nil {
			return nil, fail(verdict.CodeUsage, "--url: %w", err)
		}
	}
	if o.request.targets == "" && !o.request.template {
		requests, err := o.request.requests()
		return &outgoing{targets: []*live.Target{base}, requests: requests}, err
	}
	if base != nil && base.Path() != "/" {
		return nil, fail(verdict.CodeUsage, "--url %s with --targets: the paths of the file are whole: want a URL without one", base)
	}
	all, errs, err := o.patterns(stdin)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(p targets.Pattern) bool { return !p.Fixed() }) && o.request.template {
		from := "--url"
		if o.request.targets != "" {
			from = "--targets " + o.request.targetsName()
		}
		return nil, fail(verdict.CodeUsage, "--template: no placeholder in %s, --header or --body: want {{seq}}, {{random LOW HIGH}} or {{uuid}}, or no --template", from)
	}
	made, order, err := targets.Expand(all, max(1, o.request.variants.of), source(seed, "requests"))
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%s: %w", o.source(), err)
	}
	out := &outgoing{requests: make([]live.Request, len(made)), order: order.At}
	known := servers{base: base, known: map[string]*live.Target{}}
	for i, t := range made {
		to, path, err := known.of(t.URL)
		if err != nil {
			if n := len(errs.All); n == 0 || errs.All[n-1].At != t.At { // once for all its variants
				errs.Add(t.At, "%v", err)
			}
			continue
		}
		out.requests[i] = request(t, to, path)
	}
	if err := errs.OrNil(); err != nil {
		if o.request.targets == "" {
			return nil, fail(verdict.CodeUsage, "--url: %s", errs.All[0].What)
		}
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	if base != nil && known.known[""] == nil {
		return nil, fail(verdict.CodeUsage, "--url with --targets: all requests of %s name a server of their own: want paths in it, or no --url", o.request.targetsName())
	}
	out.targets = known.all
	return out, nil
}

// targetsName is how the file of --targets is named.
func (o *requestOptions) targetsName() string {
	if o.targets == "-" {
		return "<stdin>"
	}
	return o.targets
}

// source names where the requests come from.
func (o *runOptions) source() string {
	if o.request.targets != "" {
		return "--targets " + o.request.targetsName()
	}
	return "--template"
}

// patterns returns what the requests are made from: each target of the file with
// what the flags add to it, or what the flags say alone. errs takes what is wrong
// with the file later on.
func (o *runOptions) patterns(stdin io.Reader) (all []targets.Pattern, errs *targets.Errors, err error) {
	r := &o.request
	flags, err := r.flagged()
	if err != nil {
		return nil, nil, err
	}
	list := []targets.Target{flags}
	list[0].URL = o.url
	errs = &targets.Errors{File: r.targetsName()}
	if r.targets != "" {
		read := func() ([]byte, error) { return os.ReadFile(r.targets) }
		if r.targets == "-" {
			read = func() ([]byte, error) { return io.ReadAll(stdin) }
		}
		text, err := read()
		if err != nil {
			return nil, nil, fail(verdict.CodeUsage, "--targets: %w", err)
		}
		if list, err = targets.Read(r.targetsName(), text, os.ReadFile); err != nil {
			return nil, nil, fail(verdict.CodeUsage, "%w", err)
		}
	}
	for _, t := range list {
		if r.targets != "" {
			t = merged(flags, t)
		}
		if r.template {
			all = append(all, targets.ParsePattern(t, errs))
		} else {
			all = append(all, targets.PatternOf(t))
		}
	}
	if err := errs.OrNil(); err != nil {
		if r.targets == "" {
			return nil, nil, fail(verdict.CodeUsage, "--url: %s", errs.All[0].What)
		}
		return nil, nil, fail(verdict.CodeUsage, "%w", err)
	}
	return all, errs, nil
}

// flagged returns what the flags say of every request.
func (o *requestOptions) flagged() (targets.Target, error) {
	plain, err := o.requests()
	if err != nil {
		return targets.Target{}, err
	}
	t := targets.Target{Method: o.method, Body: plain[0].Body}
	for _, h := range o.headers {
		name, value, _ := strings.Cut(h, ":") // looked at by requests
		t.Fields = append(t.Fields, targets.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	if !o.template {
		return t, nil
	}
	for _, f := range t.Fields {
		if _, err := targets.ParseTemplate(f.Value); err != nil {
			return t, fail(verdict.CodeUsage, "--header %s: %w", f.Name, err)
		}
	}
	if _, err := targets.ParseTemplate(string(t.Body)); err != nil {
		flag := "--body"
		if o.bodyFile != "" {
			flag = "--body-file " + o.bodyFile
		}
		return t, fail(verdict.CodeUsage, "%s: %w", flag, err)
	}
	return t, nil
}

// merged returns t with what the flags say of every request, as vegeta does it:
// their fields come first, and their method and body are for targets that have
// none. A target's own Host takes the place of theirs, for there is only one.
func merged(flags, t targets.Target) targets.Target {
	isHost := func(f targets.Field) bool { return strings.EqualFold(f.Name, "Host") }
	fields := slices.Clone(flags.Fields)
	if slices.ContainsFunc(t.Fields, isHost) {
		fields = slices.DeleteFunc(fields, isHost)
	}
	t.Fields = append(fields, t.Fields...)
	if t.Method == "" {
		t.Method = flags.Method
	}
	if len(t.Body) == 0 {
		t.Body = flags.Body
	}
	return t
}

// request returns t as the generator sends it.
func request(t targets.Target, to *live.Target, path string) live.Request {
	r := live.Request{Target: to, Method: t.Method, Path: path, Body: t.Body, Header: http.Header{}}
	if r.Method == "" && len(r.Body) > 0 {
		r.Method = http.MethodPost
	}
	for _, f := range t.Fields {
		r.Header[f.Name] = append(r.Header[f.Name], f.Value)
	}
	return r
}

// servers are those that URLs name.
type servers struct {
	base  *live.Target // of paths; may be nil
	all   []*live.Target
	known map[string]*live.Target // by what stands before the path
}

// of returns the server and the path of a URL, or of a path.
func (s *servers) of(url string) (*live.Target, string, error) {
	if strings.HasPrefix(url, "/") {
		if s.base == nil {
			return nil, "", fmt.Errorf("path %s without a server: want a URL, or --url as well", url)
		}
		path, err := live.WirePath(url)
		if err != nil {
			return nil, "", err
		}
		return s.keep("", s.base), path, nil
	}
	t, err := live.ParseTarget(url)
	if err != nil {
		return nil, "", err
	}
	return s.keep(targets.ServerOf(url), t), t.Path(), nil
}

// keep returns the first target of that name.
func (s *servers) keep(name string, t *live.Target) *live.Target {
	if s.known[name] == nil {
		s.known[name] = t
		s.all = append(s.all, t)
	}
	return s.known[name]
}

// source returns the random source of one purpose.
func source(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
