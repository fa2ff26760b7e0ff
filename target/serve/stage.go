package serve

import (
	"fmt"
	"slices"
	"strings"
)

// A Stage is how far the server goes with a request before it may refuse it.
// The costs are real, not modelled.
type Stage string

const (
	// Accept refuses a connection before a byte of it is read: a canned 503, then
	// half-close and drain. The protections know nothing about the request. While
	// the server sheds, and for a second after, connections are not kept, so that
	// callers have to come back this way; the first byte of a later request on a
	// kept connection is treated as a connection.
	Accept Stage = "accept"
	// Headers refuses after the request head, read by a hand-kept minimum of
	// HTTP/1.1, with an answer prepared beforehand. The connection is kept.
	Headers Stage = "headers"
	// Handler refuses in an ordinary net/http handler, before the body is read.
	Handler Stage = "handler"
	// Late refuses in a net/http handler after the body was read, decoded from
	// JSON, authenticated and logged; see Sample.
	Late Stage = "late"
)

// Stages lists the stages from the cheapest to the dearest.
func Stages() []Stage { return []Stage{Accept, Headers, Handler, Late} }

func (s Stage) check() error {
	if slices.Contains(Stages(), s) {
		return nil
	}
	names := make([]string, 0, len(Stages()))
	for _, known := range Stages() {
		names = append(names, string(known))
	}
	return fmt.Errorf("shed_at is %q: want one of %s", string(s), strings.Join(names, ", "))
}
