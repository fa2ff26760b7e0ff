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
	"knee/target/server"
	"knee/target/wire"
)

// answers are prepared answers of HTTP/1.1 by what they say. There are few:
// reasons are keys of counters. What asks the caller to come back later is
// written anew, since the time differs.
type answers struct {
	ready atomic.Pointer[map[answerKey][]byte]
}

type answerKey struct {
	kind     server.EffectKind
	reason   protection.Reason
	degraded bool
	noRetry  bool
	headOnly bool
	close    bool
}

// maxAnswers bounds what is kept.
const maxAnswers = 1000

// bytes returns the answer to write; the caller does not change it.
func (k *answers) bytes(g signal, headOnly, closing bool) []byte {
	a := &g.answer
	if a.RetryAfter > 0 || a.Granted { // of a protection's own: seldom twice the same
		return rawAnswer(g, headOnly, closing)
	}
	key := answerKey{g.kind, a.Reason, a.Degraded, a.NoRetry, headOnly, closing}
	for {
		old := k.ready.Load()
		if old != nil {
			if b, ok := (*old)[key]; ok {
				return b
			}
		}
		b := rawAnswer(g, headOnly, closing)
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

// usualRetryAfter is what a refused caller is told to wait in Retry-After when no
// protection says anything. Callers of ours are told that nothing was said.
const usualRetryAfter = time.Second

// retryAfter returns how long a caller is told to wait before another attempt; 0
// when nothing is said.
func (g *signal) retryAfter() time.Duration {
	if g.kind == server.Refuse {
		return cmp.Or(g.answer.RetryAfter, usualRetryAfter)
	}
	return g.answer.RetryAfter
}

// status returns the status of the answer.
func (g *signal) status() int {
	switch g.kind {
	case server.Refuse:
		return http.StatusServiceUnavailable
	case server.Fail:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// rawAnswer returns the answer as bytes of HTTP/1.1.
func rawAnswer(g signal, headOnly, closing bool) []byte {
	a, status := &g.answer, g.status()
	var extra []byte
	if a.Granted {
		extra = fmt.Appendf(extra, "%s: %d\r\n", wire.Credits, a.Credits)
	}
	if status == http.StatusOK {
		if a.Degraded {
			extra = append(extra, wire.Degraded+": 1\r\n"...)
		}
		return raw(status, okBody, extra, headOnly, closing)
	}
	extra = fmt.Appendf(extra, "%s: %s\r\n", wire.Reason, a.Reason)
	if wait := g.retryAfter(); wait > 0 {
		extra = fmt.Appendf(extra, "%s: %s\r\n", wire.RetryAfter, wire.AppendRetryAfter(nil, wait))
		extra = fmt.Appendf(extra, "%s: %s\r\n", wire.RetryAfterMs, wire.AppendMillis(nil, a.RetryAfter))
	}
	if a.NoRetry {
		extra = append(extra, wire.Retry+": no\r\n"...)
	}
	return raw(status, string(a.Reason)+"\n", extra, headOnly, closing)
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
