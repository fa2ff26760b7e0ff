package live

import "strings"

// mostReasons bounds the different reasons and failure kinds of one run.
const mostReasons = 64

// otherReason stands for the reasons of a server that has too many.
const otherReason = "other"

// reasons keeps the number of reasons small: they are keys of counters, and a
// server may put an identifier into each.
type reasons struct{ known map[string]bool }

// keep returns reason, or "other" when too many different ones have come before.
func (r *reasons) keep(reason string) string {
	switch {
	case reason == "" || r.known[reason]:
		return reason
	case len(r.known) >= mostReasons:
		return otherReason
	case r.known == nil:
		r.known = map[string]bool{}
	}
	r.known[reason] = true
	return reason
}

// longestReason bounds the length of a reason, in bytes.
const longestReason = 64

// cleanReason returns a server's words as a key: lower case letters, digits and
// "_.:-", with everything else as "_", cut to 64 bytes.
func cleanReason(words string) string {
	if len(words) > longestReason {
		words = words[:longestReason]
	}
	if !strings.ContainsFunc(words, func(r rune) bool { return r > 0x7f || !reasonByte(byte(r)) }) {
		return words
	}
	clean := []byte(words)
	for i, b := range clean {
		switch {
		case 'A' <= b && b <= 'Z':
			clean[i] = b - 'A' + 'a'
		case !reasonByte(b):
			clean[i] = '_'
		}
	}
	return string(clean)
}

// reasonByte reports whether b may stand in a reason.
func reasonByte(b byte) bool {
	return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '_' || b == '.' || b == ':' || b == '-'
}
