package live

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// A Target is the server of a run and the default request to it.
type Target struct {
	scheme string // http or https
	host   string // name or address, an address with its zone
	port   string // decimal, never empty
	given  string // host and port as they stand in the URL, without credentials
	path   string // path and query as they go on the wire
	user   *url.Userinfo
}

// ParseTarget reads a URL: the scheme http or https, a host, optionally a port
// from 1 to 65535, a path and a query. Path and query are kept byte for byte; a
// fragment is dropped. Errors do not show credentials.
func ParseTarget(raw string) (*Target, error) {
	t, err := parseTarget(raw)
	if err != nil {
		return nil, fmt.Errorf("url %q: %w", redact(raw), err)
	}
	return t, nil
}

func parseTarget(raw string) (*Target, error) {
	if err := checkPrintable(raw); err != nil {
		return nil, err
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return nil, errors.New("want http://HOST… or https://HOST…: the scheme is not guessed")
	}
	u, err := url.Parse(raw)
	if err != nil {
		var detail *url.Error
		if errors.As(err, &detail) {
			err = detail.Err
		}
		if strings.Contains(rest, "@") {
			return nil, errors.New("cannot be read; look for characters in the credentials that need percent-encoding")
		}
		return nil, err
	}
	t := &Target{scheme: scheme, host: u.Hostname(), port: u.Port(), given: u.Host, path: wirePath(rest), user: u.User}
	if t.host == "" {
		return nil, errors.New("no host: want a name or an address after the scheme")
	}
	if _, err := netip.ParseAddr(t.host); err != nil && strings.ContainsAny(t.given, "[]") {
		return nil, fmt.Errorf("host %s: want an IPv6 address in brackets", t.given)
	}
	if t.port == "" {
		t.port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	if n, err := strconv.Atoi(t.port); err != nil || n < 1 || n > 65535 {
		return nil, fmt.Errorf("port %s: want 1 to 65535", t.port)
	}
	return t, nil
}

// checkPrintable returns an error for what cannot stand in a URL.
func checkPrintable(raw string) error {
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] >= 0x7f {
			return fmt.Errorf("byte %q at position %d: want printable ASCII, anything else percent-encoded", raw[i], i+1)
		}
	}
	return nil
}

// WirePath returns path and query as they are sent, given what stands in a file
// that names no server: kept byte for byte, but for a fragment, which is dropped.
func WirePath(path string) (string, error) {
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("path %q: want it to begin with /", path)
	}
	if err := checkPrintable(path); err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	return wirePath(path), nil
}

// wirePath returns path and query of what follows the scheme, as they are sent.
func wirePath(rest string) string {
	rest, _, _ = strings.Cut(rest, "#")
	at := strings.IndexAny(rest, "/?")
	switch {
	case at < 0:
		return "/"
	case rest[at] == '?':
		return "/" + rest[at:]
	}
	return rest[at:]
}

// redact takes the credentials out of a URL that may be malformed.
func redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		scheme, rest = "", raw
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		// An unescaped slash in a password ends the authority too early.
		if at = strings.LastIndexByte(rest, '@'); at < 0 || !strings.Contains(rest[:at], ":") {
			return raw
		}
	}
	if ok {
		scheme += "://"
	}
	return scheme + "xxxxx@" + rest[at+1:]
}

// String returns the URL without credentials, for reports.
func (t *Target) String() string { return t.scheme + "://" + t.given + t.path }

// Address returns host and port, as for net.Dial.
func (t *Target) Address() string { return net.JoinHostPort(t.host, t.port) }

// HostField returns what a Host field says: host and port as they were given, but
// for a zone, which means nothing to others (RFC 6874, section 4).
func (t *Target) HostField() string {
	before, rest, ok := strings.Cut(t.given, "%")
	if _, after, closed := strings.Cut(rest, "]"); ok && closed {
		return before + "]" + after
	}
	return t.given
}

// Secure reports whether the target is spoken to over TLS.
func (t *Target) Secure() bool { return t.scheme == "https" }

// Path returns path and query as they go on the wire.
func (t *Target) Path() string { return t.path }
