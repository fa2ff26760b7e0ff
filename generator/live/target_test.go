package live

import (
	"errors"
	"net"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for raw, want := range map[string]struct{ address, path, shown string }{
		"http://127.0.0.1:8080":                   {"127.0.0.1:8080", "/", "http://127.0.0.1:8080/"},
		"HTTP://127.0.0.1:8080":                   {"127.0.0.1:8080", "/", "http://127.0.0.1:8080/"},
		"https://example.org":                     {"example.org:443", "/", "https://example.org/"},
		"http://example.org?x=/":                  {"example.org:80", "/?x=/", "http://example.org/?x=/"},
		"http://u:p@h:1/":                         {"h:1", "/", "http://h:1/"},
		"http://h:1/a%20b?x=1#f":                  {"h:1", "/a%20b?x=1", "http://h:1/a%20b?x=1"},
		"http://h:1//two/./..//%2F?":              {"h:1", "//two/./..//%2F?", "http://h:1//two/./..//%2F?"},
		"http://[::1]:80/x":                       {"[::1]:80", "/x", "http://[::1]:80/x"},
		"http://[::1%25lo]:80/x":                  {"[::1%lo]:80", "/x", "http://[::1%lo]:80/x"},
		`http://h/"quoted"|<odd>^but/printable{}`: {"h:80", `/"quoted"|<odd>^but/printable{}`, `http://h/"quoted"|<odd>^but/printable{}`},
	} {
		got, err := ParseTarget(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got.Address() != want.address || got.Path() != want.path || got.String() != want.shown {
			t.Errorf("%s: address %s, path %s, shown as %s: want %s, %s, %s", raw, got.Address(), got.Path(), got, want.address, want.path, want.shown)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		"":                         "the scheme is not guessed",
		"127.0.0.1:80":             "the scheme is not guessed",
		"ftp://x":                  "the scheme is not guessed",
		"http:/x":                  "the scheme is not guessed",
		"http://":                  "no host",
		"http://]":                 "in brackets",
		"http://[x]:1":             "invalid host",
		"http://:80/":              "no host",
		"http://h:0":               "want 1 to 65535",
		"http://h:99999":           "want 1 to 65535",
		"http://h:http":            "port",
		"http://h/ a":              "percent-encoded",
		"http://h/ä":               "percent-encoded",
		"http://h/\r\nX: y":        "percent-encoded",
		"http://h/%zz":             "%zz",
		"http://me:secret@h:99999": "want 1 to 65535",
		"http://me:sec/ret@h":      "cannot be read",
		"me:secret@h":              "the scheme is not guessed",
	} {
		_, err := ParseTarget(raw)
		switch {
		case err == nil:
			t.Errorf("%q: want an error", raw)
		case !strings.Contains(err.Error(), want):
			t.Errorf("%q: error %q: want %q in it", raw, err, want)
		case strings.Contains(err.Error(), "sec"):
			t.Errorf("%q: error %q shows the password", raw, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	f.Add("http://me:secret@h:80/a?b#c")
	f.Add("http://[::1%25lo]:1//")
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := ParseTarget(raw)
		if err != nil {
			return
		}
		if !strings.HasPrefix(got.Path(), "/") || strings.Contains(got.Path(), "#") || !strings.Contains(raw, strings.TrimPrefix(got.Path(), "/")) {
			t.Errorf("%q: path %q is not what was given", raw, got.Path())
		}
		if _, err := wireURL(got, got.Path()); err != nil {
			t.Errorf("%q: path %q cannot be sent: %v", raw, got.Path(), err)
		}
		if _, _, err := net.SplitHostPort(got.Address()); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	})
}

func TestCheckHost(t *testing.T) {
	allow := []string{"Shop.example", "10.0.0.1:8080"}
	for raw, fine := range map[string]bool{
		"http://localhost":        true,
		"http://api.localhost:1":  true,
		"http://127.9.9.9":        true,
		"http://[::1]:1":          true,
		"http://[::1%25lo]:1":     true,
		"http://[::ffff:7f00:1]":  true,
		"http://shop.example:81":  true,
		"http://10.0.0.1:8080":    true,
		"http://10.0.0.1:8081":    false,
		"http://www.shop.example": false,
		"http://localhost.com":    false,
		"http://0.0.0.0":          false,
		"http://192.168.0.1":      false,
	} {
		target, err := ParseTarget(raw)
		if err != nil {
			t.Fatal(err)
		}
		err = CheckHost(target, allow)
		var refused *HostError
		if fine != (err == nil) || err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: error %v: want allowed %v", raw, err, fine)
		}
	}
}

func TestPreflight(t *testing.T) {
	s := serveRaw(t, func(*net.TCPConn) {})
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	target, err := ParseTarget("http://localhost:" + port)
	if err != nil {
		t.Fatal(err)
	}
	tried, err := Preflight(t.Context(), target)
	if err != nil {
		t.Fatalf("tried %v: %v", tried, err)
	}
	if last := tried[len(tried)-1]; last.Address != "127.0.0.1:"+port || last.Err != nil {
		t.Errorf("the last address tried is %v: want the one that is listened on", last)
	}
}

func TestPreflightNamesWhatItTried(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	target, err := ParseTarget("http://me:secret@" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Preflight(t.Context(), target)
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "tried "+l.Addr().String()+": ") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v: want the address tried and no password", err)
	}
	target, err = ParseTarget("http://name.invalid")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Preflight(t.Context(), target); !errors.As(err, &unreachable) || len(unreachable.Tried) != 0 {
		t.Errorf("error %v: want an UnreachableError that tried nothing", err)
	}
}
