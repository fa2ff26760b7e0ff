package live

import (
	"strconv"
	"sync/atomic"
	"time"

	"knee/generator/client"
	"knee/target/wire"
)

// fields are the header fields of an answer, by their canonical names.
type fields interface {
	// get returns the first value, nil when there is none. It may be overwritten by
	// the next answer.
	get(name string) []byte
	// has reports whether there is a value, holds whether there is this one.
	has(name string) bool
	holds(name, value string) bool
}

// kept are the fields that the judge looks at beside those of the rules.
var kept = []string{wire.Reason, wire.Degraded, wire.RetryAfter, wire.RetryAfterMs, wire.Retry, wire.Credits, grpcStatusField, grpcMessageField, grpcPushbackField}

// names returns the fields that a judge by these rules looks at.
func (r Rules) names() []string {
	names := append([]string(nil), kept...)
	for _, rules := range [][]Rule{r.Success, r.Reject} {
		for i := range rules {
			if w := rules[i].what; w == headerThere || w == headerValue {
				names = append(names, rules[i].name)
			}
		}
	}
	return names
}

// A judge turns answers into what a population is told. Each goroutine that
// reads answers has one of its own.
type judge struct {
	rules Rules
	odd   *atomic.Uint64 // answers whose Retry-After could not be read
	known interned
}

// answer judges a complete answer; body is its start.
func (j *judge) answer(status int, h fields, body []byte) client.Answer {
	a := j.rules.judge(status, h, body, &j.known)
	if a.Result != client.OK {
		a.RetryAfter = j.retryAfter(h)
		a.NoRetry = string(h.get(wire.Retry)) == "no"
		if pushback := h.get(grpcPushbackField); pushback != nil {
			a.RetryAfter, a.NoRetry = grpcPushback(pushback)
		}
	}
	if credits := h.get(wire.Credits); credits != nil {
		n, err := strconv.ParseUint(string(credits), 10, 31)
		a.Credits, a.Granted = int(n), err == nil
	}
	return a
}

// longestRetryAfter caps what a server may ask for.
const longestRetryAfter = 24 * time.Hour

// retryAfter returns how long the server asks the caller to wait; 0 when it does
// not say so, or not in a way that can be read, which is counted.
func (j *judge) retryAfter(h fields) time.Duration {
	if ms := h.get(wire.RetryAfterMs); ms != nil {
		if d, ok := wire.ParseMillis(string(ms)); ok {
			return min(d, longestRetryAfter)
		}
	}
	value := h.get(wire.RetryAfter)
	if value == nil {
		return 0
	}
	d, ok := wire.ParseRetryAfter(string(value), time.Now().Unix())
	if !ok {
		j.odd.Add(1)
	}
	return min(d, longestRetryAfter)
}

// interned keeps strings that come again and again, so that each is made once.
type interned map[string]string

// of returns b as a string.
func (k *interned) of(b []byte) string {
	if s, ok := (*k)[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(*k) < mostReasons {
		if *k == nil {
			*k = interned{}
		}
		(*k)[s] = s
	}
	return s
}
