package cases

import (
	"strings"
	"testing"
	"time"
)

// Heads that are large, endless or odd. RFC 9112, sections 2.2, 4 and 5.
func TestHeads(t *testing.T) {
	turns := map[string]turn{}
	for name, head := range map[string]string{
		"no reason phrase":     "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok",
		"nothing after status": "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
		"odd reason":           "HTTP/1.1 200 \xe4 <\"&> 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"bare line feeds":      "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
		"folded":               "HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\nContent-Length: 2\r\n\r\nok",
		"empty field":          "HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 2\r\n\r\nok",
		"a field of 60 kB":     "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 60<<10) + "\r\nContent-Length: 2\r\n\r\nok",
		"1000 fields":          "HTTP/1.1 200 OK\r\n" + strings.Repeat("Set-Cookie: a=0123456789\r\n", 1000) + "Content-Length: 2\r\n\r\nok",
		"a redirect elsewhere": "HTTP/1.1 200 OK\r\nLocation: http://127.0.0.1:9/\r\nRefresh: 0; url=http://127.0.0.1:9/\r\nAlt-Svc: h2=\"127.0.0.1:9\"\r\nContent-Length: 2\r\n\r\nok",
	} {
		turns[name] = turn{talk: always(head), ends: good}
	}
	for name, head := range map[string]string{
		"two digits":          "HTTP/1.1 20 OK\r\n\r\n",
		"four digits":         "HTTP/1.1 2000 OK\r\n\r\n",
		"a status of letters": "HTTP/1.1 abc OK\r\n\r\n",
		"another protocol":    "ICY 200 OK\r\n\r\n",
		"no colon":            "HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 2\r\n\r\nok",
		"no name":             "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 2\r\n\r\nok",
		"html":                "<html><body>hello</body></html>\r\n\r\n",
	} {
		turns[name] = turn{talk: only(head), ends: ended("failed:malformed")}
	}
	turns["a redirect"] = turn{talk: always("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"), ends: ended("failed:status_302")}
	turns["endless field"] = turn{talk: only("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)), ends: ended("failed:head_too_large")}
	turns["endless fields"] = turn{talk: only("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: yyyyyyyyyyyyy\r\n", 20_000)), ends: ended("failed:head_too_large")}
	turns["interim answers without end"] = turn{
		talk: func(c *peer) {
			if _, ok := c.request(); ok {
				for c.say("HTTP/1.1 103 Early Hints\r\n\r\n") {
					time.Sleep(time.Millisecond)
				}
			}
		},
		ends: ended("failed:too_many_1xx"),
	}
	turns["five interim answers"] = turn{talk: always(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 5) + ok200), ends: good}
	turns["switching protocols"] = turn{talk: only("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), ends: ended("failed:status_101")}
	take(t, turns)
}
