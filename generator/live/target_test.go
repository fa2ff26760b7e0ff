package live

import (
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

func TestWirePath(t *testing.T) {
	for path, want := range map[string]string{
		"/":                     "/",
		"/a%20b/../c?x=%31&y#f": "/a%20b/../c?x=%31&y",
		"//two?#":               "//two?",
	} {
		if got, err := WirePath(path); err != nil || got != want {
			t.Errorf("%s: %q, error %v: want %q", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"":     "begin with /",
		"a":    "begin with /",
		"?x":   "begin with /",
		"/ a":  "byte ' ' at position 2",
		"/a\n": "byte '\\n' at position 3",
		"/ä":   "percent-encoded",
	} {
		if _, err := WirePath(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v: want %s in it", path, err, want)
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

func TestHostField(t *testing.T) {
	for raw, want := range map[string]string{
		"http://h":               "h",
		"http://h:80":            "h:80",
		"http://u:p@h:8080/":     "h:8080",
		"http://[::1]:80":        "[::1]:80",
		"http://[::1%25lo]:8080": "[::1]:8080",
		"http://[fe80::1%25e]":   "[fe80::1]",
	} {
		target, err := ParseTarget(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.HostField(); got != want {
			t.Errorf("%s: %s: want %s", raw, got, want)
		}
	}
}
