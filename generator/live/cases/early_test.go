package cases

import (
	"io"
	"testing"
	"time"
)

// Servers that speak before they are asked, or before they have heard all.
func TestEarlyAnswers(t *testing.T) {
	const busy = "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	upload := trip{rate: 20, length: 250 * time.Millisecond, requests: post(1 << 20)}
	take(t, map[string]turn{
		// The server refuses connections, not requests: at the moment at which it accepts them.
		"503 at accept": {
			talk: func(c *peer) { c.answer(busy); _ = c.CloseWrite(); c.hold() },
			ends: ended("rejected:status_503"), nethttp: ended("failed:malformed", "failed:reset_connect"), deaf: true,
		},
		"a banner": {
			talk: func(c *peer) { c.say("SSH-2.0-OpenSSH_9.6\r\n"); c.hold() },
			ends: ended("failed:malformed"), nethttp: ended("failed:reset_connect"), deaf: true,
		},
		"a banner, and the end": {
			talk: func(c *peer) { c.say("220 mail ESMTP\r\n"); _ = c.CloseWrite(); c.hold() },
			ends: ended("failed:malformed"), nethttp: ended("failed:reset_connect"), deaf: true,
		},
		"half-closed at accept": {
			talk: func(c *peer) { _ = c.CloseWrite(); c.hold() },
			ends: ended("failed:eof"), nethttp: ended("failed:reset_connect"), deaf: true,
		},
		// Each costs its request one connection: it is not tried again until it works.
		"closed at accept": {
			talk: func(*peer) {}, may: ended("failed:eof", "failed:reset", "failed:reset_connect"), deaf: true,
		},
		"reset at accept": {
			talk: (*peer).reset, may: ended("failed:reset", "failed:reset_connect"), deaf: true,
		},
		"503 before the body, and no more": {
			talk: func(c *peer) {
				if _, ok := c.head(); ok {
					c.answer(busy)
					_ = c.CloseWrite()
					c.hold()
				}
			},
			trip: upload, ends: ended("rejected:status_503"),
		},
		"200 before the body": {
			talk: func(c *peer) {
				for {
					r, ok := c.head()
					if !ok || !c.answer(ok200) {
						return
					}
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						return
					}
				}
			},
			trip: upload, ends: ended("good"),
		},
		"100 that nobody waits for": {
			talk: always("HTTP/1.1 100 Continue\r\n\r\n" + ok200), trip: upload, ends: ended("good"),
		},
	})
}
