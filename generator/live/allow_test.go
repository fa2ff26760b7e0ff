package live

import (
	"errors"
	"testing"
)

func TestCheck(t *testing.T) {
	allow := []string{"Shop.example", "10.0.0.1:8080"}
	for name, test := range map[string]struct {
		url  string
		to   string
		unix string
		fine bool
	}{
		"localhost":             {url: "http://localhost", fine: true},
		"below localhost":       {url: "http://api.localhost:1", fine: true},
		"127.9.9.9":             {url: "http://127.9.9.9", fine: true},
		"::1":                   {url: "http://[::1]:1", fine: true},
		"::1 with a zone":       {url: "http://[::1%25lo]:1", fine: true},
		"mapped":                {url: "http://[::ffff:7f00:1]", fine: true},
		"allowed name":          {url: "http://shop.example:81", fine: true},
		"allowed port":          {url: "http://10.0.0.1:8080", fine: true},
		"another port":          {url: "http://10.0.0.1:8081"},
		"below an allowed name": {url: "http://www.shop.example"},
		"like localhost":        {url: "http://localhost.com"},
		"any address":           {url: "http://0.0.0.0"},
		"private":               {url: "http://192.168.0.1"},
		"sent to loopback":      {url: "http://www.example", to: "::127.0.0.1:80", fine: true},
		"sent away":             {url: "http://127.0.0.1", to: "127.0.0.1::192.168.0.1:", fine: false},
		"allowed, sent away":    {url: "http://shop.example", to: ":80:192.168.0.1:"},
		"sent to allowed":       {url: "http://127.0.0.1", to: "::SHOP.example:", fine: true},
		"sent to allowed port":  {url: "http://127.0.0.1", to: "::10.0.0.1:8080", fine: true},
		"sent to another port":  {url: "http://127.0.0.1", to: "::10.0.0.1:80"},
		"rule for another host": {url: "http://192.168.0.1", to: "shop.example::127.0.0.1:"},
		"rule for another port": {url: "http://192.168.0.1", to: ":443:127.0.0.1:"},
		"unix socket":           {url: "http://www.example", unix: "/run/server", fine: true},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := ParseTarget(test.url)
			if err != nil {
				t.Fatal(err)
			}
			h := HTTP{Unix: test.unix}
			if test.to != "" {
				h.ConnectTo = []ConnectTo{connectTo(t, test.to)}
			}
			routes, err := NewRoutes(h, target)
			if err != nil {
				t.Fatal(err)
			}
			err = routes.Check(allow)
			var refused *HostError
			if test.fine != (err == nil) || err != nil && !errors.As(err, &refused) {
				t.Errorf("error %v: want allowed %v", err, test.fine)
			}
		})
	}
}

// The error names the host to allow, which is the one that would get the load.
func TestHostErrorNamesWhereConnectionsGo(t *testing.T) {
	target, err := ParseTarget("http://127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	routes, err := NewRoutes(HTTP{ConnectTo: []ConnectTo{connectTo(t, "::far.example:")}}, target)
	if err != nil {
		t.Fatal(err)
	}
	const want = "host far.example, which connections for 127.0.0.1 go to, is not loopback and not allowed (allowed: loopback): " +
		"this tool can take a server down; permit it with --allow far.example"
	if err := routes.Check(nil); err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

// A place on this machine is told, wherever it stands among the others.
func TestHere(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:8080": "127.0.0.1:8080", "http://[::1]:8080": "[::1]:8080", "http://10.0.0.1": "", "http://shop.example": "",
	} {
		target, err := ParseTarget(url)
		if err != nil {
			t.Fatal(err)
		}
		far, err := ParseTarget("http://far.example")
		if err != nil {
			t.Fatal(err)
		}
		routes, err := NewRoutes(HTTP{}, far, target)
		if err != nil {
			t.Fatal(err)
		}
		if got := routes.Here(); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func connectTo(t *testing.T, s string) ConnectTo {
	t.Helper()
	c, err := ParseConnectTo(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
