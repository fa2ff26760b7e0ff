package live

import (
	"fmt"
	"strings"
	"time"
)

// An Engine names a way to carry requests.
type Engine string

// Engines. Auto is the first one that can do what the options ask for.
const (
	Auto    Engine = "auto"
	NetHTTP Engine = "nethttp"
)

// An engine is one implementation of transport.
type engine struct {
	name Engine
	doc  string
	// http2 says that it speaks HTTP/2, which is for the options to ask for.
	http2 bool
	// refuses says why the engine cannot do what o asks for; "" when it can.
	refuses func(o *Options) string
	new     func(o Options, now func() time.Duration) (transport, error)
}

// engines returns what this platform has, the preferred ones first.
func engines() []engine {
	return append(platformEngines(), engine{
		name:    NetConn,
		doc:     "HTTP/1.1 with or without TLS, a goroutine per connection",
		refuses: func(*Options) string { return "" },
		new:     func(o Options, now func() time.Duration) (transport, error) { return newNetConn(o, now) },
	}, engine{
		name:    NetHTTP,
		doc:     "HTTP/1.1 by net/http, a goroutine per request",
		refuses: func(*Options) string { return "" },
		new:     func(o Options, now func() time.Duration) (transport, error) { return newNetHTTP(o, now) },
	}, engine{
		name:    H2,
		doc:     "HTTP/2 over TLS, or in the clear by prior knowledge; never chosen by itself",
		http2:   true,
		refuses: func(*Options) string { return "" },
		new:     func(o Options, now func() time.Duration) (transport, error) { return newH2(o, now) },
	})
}

// Engines returns the names that Options.Engine can have here.
func Engines() []Engine {
	names := []Engine{Auto}
	for _, e := range engines() {
		names = append(names, e.name)
	}
	return names
}

// newTransport returns the transport that o asks for, and which engine it is of.
func newTransport(o Options, now func() time.Duration) (Engine, transport, error) {
	var why []string
	for _, e := range engines() {
		if o.Engine != "" && o.Engine != Auto && o.Engine != e.name {
			continue
		}
		if e.http2 && o.Engine != e.name {
			continue
		}
		reason := e.refuses(&o)
		if reason == "" {
			t, err := e.new(o, now)
			return e.name, t, err
		}
		why = append(why, fmt.Sprintf("%s: %s", e.name, reason))
	}
	if len(why) == 0 {
		return "", nil, fmt.Errorf("engine %q: want one of %v", o.Engine, Engines())
	}
	return "", nil, fmt.Errorf("no engine can do this: %s", strings.Join(why, "; "))
}
