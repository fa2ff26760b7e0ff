package live

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// reach finds out whether the server at a URL takes connections.
func reach(t *testing.T, h HTTP, urls ...string) (*Routes, error) {
	t.Helper()
	var targets []*Target
	for _, url := range urls {
		target, err := ParseTarget(url)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, target)
	}
	routes, err := NewRoutes(h, targets...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(routes.close)
	return routes, routes.Reach(t.Context())
}

// What Reach found out is where connections go.
func TestReachSettlesTheFamily(t *testing.T) {
	s := serveRaw(t, func(*net.TCPConn) {})
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	routes, err := reach(t, HTTP{}, "http://localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if e, err := routes.order[0].pick(); err != nil || e.String() != "127.0.0.1:"+port {
			t.Errorf("%v, error %v: want the address that is listened on", e, err)
		}
	}
}

func TestReachNamesWhatItTried(t *testing.T) {
	address := closedPort(t)
	for name, test := range map[string]struct {
		http  HTTP
		url   string
		want  string
		tried int
	}{
		"an address": {url: "http://me:secret@" + address, want: "connecting to http://" + address + "/: tried " + address + ": ", tried: 1},
		"no name":    {url: "http://name.invalid", want: "connecting to http://name.invalid/: "},
		"no zone":    {url: "http://[::1%25nosuch]:1", want: "connecting to http://[::1%nosuch]:1/: zone nosuch: no such network interface"},
		"connect to": {
			http: HTTP{ConnectTo: []ConnectTo{connectTo(t, "::"+address)}}, url: "http://shop.example/x",
			want: "connecting to http://shop.example/x at " + address + ": tried " + address + ": ", tried: 1,
		},
		"unix socket": {
			http: HTTP{Unix: "/nowhere/socket"}, url: "http://shop.example/x",
			want: "connecting to http://shop.example/x at /nowhere/socket: tried /nowhere/socket: ", tried: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reach(t, test.http, test.url)
			var unreachable *UnreachableError
			if !errors.As(err, &unreachable) || len(unreachable.Tried) != test.tried ||
				!strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v\nwant %s…", err, test.want)
			}
		})
	}
}

// Every server that cannot be reached is named at once.
func TestReachLooksAtAll(t *testing.T) {
	one, two := closedPort(t), closedPort(t)
	s := serveRaw(t, func(*net.TCPConn) {})
	_, err := reach(t, HTTP{}, "http://"+one, s.url, "http://"+two, "http://"+two+"/again")
	if err == nil || strings.Count(err.Error(), "connecting to") != 2 ||
		!strings.Contains(err.Error(), one) || !strings.Contains(err.Error(), two) {
		t.Errorf("error %v: want %s and %s in it, once each", err, one, two)
	}
}

// A certificate that is wrong, and a server that speaks no TLS, are known before the
// load.
func TestReachShakesHands(t *testing.T) {
	secure, plain := httptest.NewUnstartedServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	for name, config := range map[string]*tls.Config{
		"nobody looks": {InsecureSkipVerify: true},
		"it is known":  secure.Client().Transport.(*http.Transport).TLSClientConfig,
	} {
		if _, err := reach(t, HTTP{TLS: config}, secure.URL); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reach(t, HTTP{}, secure.URL); !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("a certificate that nobody has vouched for: %v", err)
	}
	var unreachable *UnreachableError
	if _, err := reach(t, HTTP{}, "https"+strings.TrimPrefix(plain.URL, "http")); !errors.As(err, &unreachable) || len(unreachable.Tried) != 1 {
		t.Errorf("a server without TLS: %v", err)
	}
}
