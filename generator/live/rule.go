package live

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
)

// A Rule is a condition on an answer, and a reason that goes with it. As text:
//
//	RULE      = CONDITION [ "->" REASON ]
//	CONDITION = "status=" CODES              the status is one of them
//	          | "grpc=" STATUSES             the status of gRPC is one of them
//	          | "header:" NAME               the header is there
//	          | "header:" NAME "=" VALUE     the header is there with exactly this value
//	          | "body^=" TEXT                the body begins with this
//	          | "body~=" TEXT                the first 64 KiB of the body contain this
//	CODES     = CODE { "," CODE }            CODE is 503, 5xx or 500-504
//	STATUSES  = STATUS { "," STATUS }        STATUS is 8 or resource_exhausted
//	REASON    = 1 to 64 of a-z 0-9 _ . : -
//
// Spaces around the parts are dropped, except within VALUE and TEXT. The last
// "->" of a rule separates the reason. Without a reason it is status_NNN with the
// answer's status, grpc_ with its name, header_rule or body_rule.
type Rule struct {
	what   condition
	codes  []codeRange // of ofStatus
	grpc   []codes.Code
	name   string // of a header, canonical
	value  string // of a header
	text   []byte // of a body
	reason string
}

// condition is what a rule looks at.
type condition uint8

const (
	ofStatus condition = iota
	ofGRPC
	headerThere
	headerValue
	bodyPrefix
	bodyPart
)

// codeRange is a range of statuses, both ends included.
type codeRange struct{ low, high int }

// ParseRule reads a rule. The error says what is allowed.
func ParseRule(s string) (Rule, error) {
	r, err := parseRule(s)
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", s, err)
	}
	return r, nil
}

func parseRule(s string) (Rule, error) {
	var r Rule
	rest := strings.TrimSpace(s)
	if at := strings.LastIndex(rest, "->"); at >= 0 {
		r.reason = strings.TrimSpace(rest[at+2:])
		if !isReason(r.reason) {
			return r, fmt.Errorf("reason %q: want 1 to %d of a-z 0-9 _ . : -", r.reason, longestReason)
		}
		rest = strings.TrimSpace(rest[:at])
	}
	switch {
	case strings.HasPrefix(rest, "status="):
		return r, r.readCodes(rest[len("status="):])
	case strings.HasPrefix(rest, "grpc="):
		return r, r.readGRPC(rest[len("grpc="):])
	case strings.HasPrefix(rest, "header:"):
		return r, r.readHeader(rest[len("header:"):])
	case strings.HasPrefix(rest, "body^="):
		return r, r.readText(bodyPrefix, rest[len("body^="):])
	case strings.HasPrefix(rest, "body~="):
		return r, r.readText(bodyPart, rest[len("body~="):])
	}
	return r, fmt.Errorf("want status=CODES, grpc=STATUSES, header:NAME, header:NAME=VALUE, body^=TEXT or body~=TEXT, then optionally -> REASON")
}

func (r *Rule) readCodes(s string) error {
	r.what = ofStatus
	for code := range strings.SplitSeq(s, ",") {
		c, ok := parseCodes(strings.TrimSpace(code))
		if !ok {
			return fmt.Errorf("status %q: want codes from 100 to 599 such as 503, 5xx or 500-504, joined by commas", code)
		}
		r.codes = append(r.codes, c)
	}
	return nil
}

func (r *Rule) readGRPC(s string) error {
	r.what = ofGRPC
	for name := range strings.SplitSeq(s, ",") {
		code, ok := parseGRPCStatus(strings.TrimSpace(name))
		if !ok {
			return fmt.Errorf("grpc status %q: want codes from 0 to %d or names such as unavailable, joined by commas", name, len(grpcNames)-1)
		}
		r.grpc = append(r.grpc, code)
	}
	return nil
}

func parseCodes(s string) (codeRange, bool) {
	if len(s) == 3 && s[1:] == "xx" && '1' <= s[0] && s[0] <= '5' {
		low := int(s[0]-'0') * 100
		return codeRange{low, low + 99}, true
	}
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	low, errLow := strconv.Atoi(from)
	high, errHigh := strconv.Atoi(to)
	ok := errLow == nil && errHigh == nil && len(from) == 3 && len(to) == 3 && 100 <= low && low <= high && high <= 599
	return codeRange{low, high}, ok
}

func (r *Rule) readHeader(s string) error {
	name, value, hasValue := strings.Cut(s, "=")
	r.what, r.name = headerThere, http.CanonicalHeaderKey(strings.TrimSpace(name))
	if !isToken(r.name) {
		return fmt.Errorf("header %q: want the name of an HTTP header", name)
	}
	if hasValue {
		r.what, r.value = headerValue, value
	}
	return nil
}

func (r *Rule) readText(where condition, s string) error {
	r.what, r.text = where, []byte(s)
	if s == "" {
		return fmt.Errorf("no text: want what the body has to hold")
	}
	return nil
}

// isReason reports whether s can be the reason of a rule.
func isReason(s string) bool {
	return s != "" && s == cleanReason(s)
}

// holds reports whether the condition is met; body is the start of the body.
func (r *Rule) holds(status int, header fields, body []byte) bool {
	switch r.what {
	case ofStatus:
		return slices.ContainsFunc(r.codes, func(c codeRange) bool { return c.low <= status && status <= c.high })
	case ofGRPC:
		code, ok := grpcStatus(header)
		return ok && slices.Contains(r.grpc, code)
	case headerThere:
		return header.has(r.name)
	case headerValue:
		return header.holds(r.name, r.value)
	case bodyPrefix:
		return bytes.HasPrefix(body, r.text)
	default:
		return bytes.Contains(body, r.text)
	}
}

// why returns the reason of a rejection by this rule.
func (r *Rule) why(status int, header fields) string {
	switch {
	case r.reason != "":
		return r.reason
	case r.what == ofStatus:
		return statusReason(status)
	case r.what == ofGRPC:
		code, _ := grpcStatus(header)
		return grpcReason(code)
	}
	return r.whyNot()
}

// whyNot returns the reason of a rejection because this rule is not met.
func (r *Rule) whyNot() string {
	switch {
	case r.reason != "":
		return r.reason
	case r.what == headerThere, r.what == headerValue:
		return "header_rule"
	}
	return "body_rule"
}
