package cases

import (
	"testing"
	"time"
)

// Connections that end after an answer. Requests are a good while apart, so that
// the end has come before the next of them.
func TestWaysToClose(t *testing.T) {
	slowly := trip{rate: 20, length: 300 * time.Millisecond}
	after := func(wait time.Duration, end func(c *peer)) func(*peer) {
		return func(c *peer) {
			if _, ok := c.request(); ok && c.answer(ok200) {
				time.Sleep(wait)
				end(c)
			}
		}
	}
	halfClose := func(c *peer) { _ = c.CloseWrite(); c.hold() }
	take(t, map[string]turn{
		"half-closed with the answer": {talk: after(0, halfClose), trip: slowly, ends: good, may: idle},
		"half-closed later":           {talk: after(5*time.Millisecond, halfClose), trip: slowly, ends: good, may: idle},
		"closed with the answer":      {talk: after(0, func(*peer) {}), trip: slowly, ends: good, may: idle},
		"closed later":                {talk: after(5*time.Millisecond, func(*peer) {}), trip: slowly, ends: good, may: idle},
		"reset later":                 {talk: after(5*time.Millisecond, (*peer).reset), trip: slowly, ends: good, may: idle},
		"announced, and not done": {
			talk: only("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), ends: good,
		},
		"announced among other options": {
			talk: only("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok"), ends: good,
		},
		"HTTP/1.0 with a length": {talk: only("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), ends: good},
		"HTTP/1.0 that is kept": {
			talk: always("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"), trip: single(), ends: good, may: once,
			check: func(t *testing.T, o outcome, s seen) {
				if s.connections != 1 {
					t.Errorf("%d requests on %d connections: want 1", o.tally.Sent, s.connections)
				}
			},
		},
		"HTTP/1.0 without a length": {
			talk: func(c *peer) {
				if _, ok := c.request(); ok {
					c.answer("HTTP/1.0 200 OK\r\n\r\nto the end")
				}
			},
			ends: good, check: func(t *testing.T, o outcome, s seen) {
				if o.stats.BodyBytes != 10*o.tally.Good {
					t.Errorf("%d bytes of %d bodies: want 10 each", o.stats.BodyBytes, o.tally.Good)
				}
			},
		},
	})
}
