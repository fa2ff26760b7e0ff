package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"knee/target/protection"
	"knee/target/wire"
)

// answers are prepared answers of HTTP/1.1 by what they say. There are few:
// reasons are keys of counters. What asks the caller to come back later is
// written anew, since the time differs.
type answers struct {
	ready atomic.Pointer[map[answerKey][]byte]
}

type answerKey struct {
	reason   protection.Reason
	degraded bool
	headOnly bool
	close    bool
}

// maxAnswers bounds what is kept.
const maxAnswers = 1000

// bytes returns the answer a to write; the caller does not change it.
func (k *answers) bytes(a protection.Answer, headOnly, closing bool) []byte {
	if a.RetryAfter > 0 { // of a protection's own: seldom twice the same
		return rawAnswer(a, headOnly, closing)
	}
	key := answerKey{a.Reason, a.Degraded, headOnly, closing}
	for {
		old := k.ready.Load()
		if old != nil {
			if b, ok := (*old)[key]; ok {
				return b
			}
		}
		b := rawAnswer(a, headOnly, closing)
		grown := map[answerKey][]byte{key: b}
		if old != nil {
			if len(*old) >= maxAnswers {
				return b
			}
			maps.Copy(grown, *old)
		}
		if k.ready.CompareAndSwap(old, &grown) {
			return b
		}
	}
}

// usualRetryAfter is what a refused caller is told to wait when no protection
// says otherwise.
const usualRetryAfter = time.Second

// retryAfter returns how long a refused caller is told to wait.
func retryAfter(a protection.Answer) time.Duration {
	return cmp.Or(a.RetryAfter, usualRetryAfter)
}

// rawAnswer returns the answer a as bytes of HTTP/1.1.
func rawAnswer(a protection.Answer, headOnly, closing bool) []byte {
	if a.Reason == "" {
		var extra []byte
		if a.Degraded {
			extra = []byte(wire.Degraded + ": 1\r\n")
		}
		return raw(http.StatusOK, okBody, extra, headOnly, closing)
	}
	extra := fmt.Appendf(nil, "%s: %s\r\n", wire.Reason, a.Reason)
	extra = fmt.Appendf(extra, "%s: %s\r\n", wire.RetryAfter, wire.AppendRetryAfter(nil, retryAfter(a)))
	extra = fmt.Appendf(extra, "%s: %s\r\n", wire.RetryAfterMs, wire.AppendMillis(nil, retryAfter(a)))
	return raw(http.StatusServiceUnavailable, string(a.Reason)+"\n", extra, headOnly, closing)
}

// raw returns an answer of HTTP/1.1. extra are whole header lines. It has no
// Date: a server that is saving every byte says only what is needed.
func raw(status int, body string, extra []byte, headOnly, closing bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %s\r\n",
		status, http.StatusText(status), strconv.Itoa(len(body)))
	b.Write(extra)
	if closing {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	if !headOnly {
		b.WriteString(body)
	}
	return b.Bytes()
}
