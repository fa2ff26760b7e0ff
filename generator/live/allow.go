package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A HostError says that load may not be sent to a host without permission.
type HostError struct {
	Host    string // that connections go to
	For     string // the host of the target, where that is another one
	Allowed []string
}

func (e *HostError) Error() string {
	host := e.Host
	if e.For != "" {
		host += ", which connections for " + e.For + " go to,"
	}
	return fmt.Sprintf("host %s is not loopback and not allowed (allowed: %s): this tool can take a server down; permit it with --allow %s",
		host, strings.Join(append([]string{"loopback"}, e.Allowed...), ", "), e.Host)
}

// Check returns a *HostError for each host that connections go to, unless it is
// loopback or it, or host:port, is in allow. Case does not matter. What counts is
// where connections go, not what stands in a URL; and a name that means this
// machine is never connected to elsewhere.
func (t *Routes) Check(allow []string) error {
	var errs []error
	for _, r := range t.order {
		h := r.hop
		named := func(a string) bool { return strings.EqualFold(a, h.host) || strings.EqualFold(a, h.String()) }
		if h.loopback() || slices.ContainsFunc(allow, named) {
			continue
		}
		e := &HostError{Host: h.host, Allowed: allow}
		if !strings.EqualFold(h.host, r.target.host) {
			e.For = r.target.host
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// Here returns a place on this machine that connections go to, "" when there is none.
func (t *Routes) Here() string {
	for _, r := range t.order {
		if r.hop.loopback() {
			return r.hop.String()
		}
	}
	return ""
}
