package cases

import (
	"testing"
	"time"
)

// What follows an answer is not the next one: its connection is given up.
func TestWhatFollowsAnAnswer(t *testing.T) {
	const next = "HTTP/1.1 500 Not yours\r\nContent-Length: 0\r\n\r\n"
	turns := map[string]turn{}
	for name, answer := range map[string]string{
		"length":  ok200,
		"empty":   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"204":     "HTTP/1.1 204 No Content\r\n\r\n",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	} {
		turns[name+", an answer at once"] = turn{talk: always(answer + next), ends: good, nethttp: idle, check: ownConnections}
		turns[name+", a line at once"] = turn{talk: always(answer + "\r\n"), ends: good, nethttp: idle, check: ownConnections}
		turns[name+", an answer later"] = turn{
			talk: func(c *peer) {
				for {
					if _, ok := c.request(); !ok || !c.answer(answer) {
						return
					}
					time.Sleep(5 * time.Millisecond)
					if !c.say(next) {
						return
					}
				}
			},
			// The requests are 50 ms apart, so that it comes while the connection rests. On a
			// machine that stands still it comes when the next request has been sent, and is
			// its answer for all that can be known.
			trip: trip{rate: 20, length: 250 * time.Millisecond}, ends: good, may: append([]string{"failed:status_500"}, idle...),
		}
	}
	heads := trip{rate: 50, length: 200 * time.Millisecond, requests: head()}
	turns["a body after HEAD"] = turn{talk: always(ok200), trip: heads, ends: good, nethttp: idle, check: ownConnections}
	take(t, turns)
}

// ownConnections checks that every request had a connection of its own.
func ownConnections(t *testing.T, o outcome, s seen) {
	if failed := o.tally.Failed; s.connections != s.requests || o.stats.Reused != failed {
		t.Errorf("%d requests on %d connections, %d of them used before: want each on its own", s.requests, s.connections, o.stats.Reused)
	}
}
