package live

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A hop is where connections go, before names are looked up: a host and a port,
// or a unix socket.
type hop struct {
	host string // name or address, an address with its zone
	port string // decimal
	path string // of a unix socket
}

// String returns h as people write it.
func (h hop) String() string {
	if h.path != "" {
		return h.path
	}
	return net.JoinHostPort(h.host, h.port)
}

// number returns the port.
func (h hop) number() uint16 {
	n, _ := strconv.ParseUint(h.port, 10, 16) // checked where it came in
	return uint16(n)
}

// named reports whether h has to be looked up.
func (h hop) named() bool {
	_, err := netip.ParseAddr(h.host)
	return err != nil && h.path == ""
}

// loopback reports whether h is this machine by definition.
func (h hop) loopback() bool {
	if h.path != "" {
		return true
	}
	if a, err := netip.ParseAddr(h.host); err == nil {
		return a.Unmap().IsLoopback()
	}
	name := strings.ToLower(strings.TrimSuffix(h.host, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// A ConnectTo sends the connections for one host and port to another, as
// --connect-to of curl does. Requests and the check of a certificate know nothing
// of it.
type ConnectTo struct {
	from, to hop // what is empty in from fits anything, and in to changes nothing
}

// ParseConnectTo reads HOST1:PORT1:HOST2:PORT2, any of which may be empty; an IPv6
// address stands in brackets.
func ParseConnectTo(s string) (ConnectTo, error) {
	c, err := parseConnectTo(s)
	if err != nil {
		return ConnectTo{}, fmt.Errorf("%q: %w: want HOST1:PORT1:HOST2:PORT2, each of them or empty, IPv6 addresses in brackets", s, err)
	}
	return c, nil
}

func parseConnectTo(s string) (c ConnectTo, err error) {
	parts, err := split(s)
	if err != nil {
		return c, err
	}
	c.from, c.to = hop{host: parts[0], port: parts[1]}, hop{host: parts[2], port: parts[3]}
	for _, h := range []hop{c.from, c.to} {
		if n, err := strconv.Atoi(h.port); h.port != "" && (err != nil || n < 1 || n > 65535) {
			return c, fmt.Errorf("port %s: want 1 to 65535", h.port)
		}
		if strings.ContainsAny(h.host, " /@[]") {
			return c, fmt.Errorf("host %q: want a name or an address", h.host)
		}
	}
	return c, nil
}

// split returns the four parts of s, which colons separate unless they stand in
// brackets.
func split(s string) (parts [4]string, err error) {
	for i := range parts {
		skip := 0
		if strings.HasPrefix(s, "[") {
			if skip = strings.IndexByte(s, ']'); skip < 0 {
				return parts, errors.New("a bracket is not closed")
			}
		}
		part, rest, more := strings.Cut(s[skip:], ":")
		if more != (i < len(parts)-1) {
			return parts, errors.New("not four parts")
		}
		part = s[:skip] + part
		if a, err := netip.ParseAddr(strings.Trim(part, "[]")); skip > 0 && err == nil && a.Is6() {
			part = a.String()
		}
		parts[i], s = part, rest
	}
	return parts, nil
}

// matches reports whether c is for h.
func (c ConnectTo) matches(h hop) bool {
	return (c.from.host == "" || strings.EqualFold(c.from.host, h.host)) && (c.from.port == "" || c.from.port == h.port)
}

// apply returns where c sends what goes to h.
func (c ConnectTo) apply(h hop) hop {
	if c.to.host != "" {
		h.host = c.to.host
	}
	if c.to.port != "" {
		h.port = c.to.port
	}
	return h
}
