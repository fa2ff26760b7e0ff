package client

import (
	"slices"
	"strings"

	"knee/target/plugin"
)

// endingsDoc documents knobs that list endings.
const endingsDoc = "rejected, timeout and failed, or one reason or kind of them such as rejected:queue_full or failed:reset"

// endings is a set of ways in which an attempt can end without success.
type endings struct {
	all   [TimedOut + 1]bool
	named []namedEnding
}

type namedEnding struct {
	result Result
	reason string
}

// parseEndings reads the value of a knob. The error names the knob.
func parseEndings(knob string, list []string) (endings, error) {
	var e endings
	for _, entry := range list {
		name, reason, named := strings.Cut(entry, ":")
		result, ok := map[string]Result{"rejected": Rejected, "timeout": TimedOut, "failed": Failed}[name]
		if !ok || named && (reason == "" || result == TimedOut) {
			return e, plugin.Knob(knob, "["+strings.Join(list, ", ")+"]", "a list of "+endingsDoc)
		}
		if named {
			e.named = append(e.named, namedEnding{result, reason})
		} else {
			e.all[result] = true
		}
	}
	return e, nil
}

// has reports whether a is one of them.
func (e *endings) has(a *Answer) bool {
	if a.Result == OK || a.Result > TimedOut {
		return false
	}
	return e.all[a.Result] || len(e.named) > 0 && slices.Contains(e.named, namedEnding{a.Result, a.Reason})
}

// certain are the failures of which it is known that the server has not worked:
// there was no connection to it.
var certain = []string{"refused", "unreachable", "dns", "tls", "connect", "connect_timeout", "reset_connect", "not_h2", "h2_goaway", "h2_refused_stream"}

// uncertain are answers of something between the caller and the server.
var uncertain = []string{"status_502", "status_504"}

// Uncertain reports whether nobody knows what became of an attempt that ended as
// e: the server may have done its work and only the answer is missing. That is so
// after a timeout, after a connection that broke once the request was on its way,
// and after the statuses 502 and 504, which a gateway gives in place of the server.
// A rejection, any other status, a connection that never stood, and a stream that a
// server says it has not looked at are certain.
func Uncertain(e Answer) bool {
	switch e.Result {
	case TimedOut:
		return true
	case Failed:
		answered := strings.HasPrefix(e.Reason, "status_") && !slices.Contains(uncertain, e.Reason)
		return !answered && !slices.Contains(certain, e.Reason)
	}
	return false
}
