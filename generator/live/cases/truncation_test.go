package cases

import (
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"knee/generator/live"
)

// An answer that ends after each of its bytes is named by what is missing, whether
// the connection is closed or reset there.
func TestCutOffAfterEachByte(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]struct{ interim, head, body string }{
		"length":  {"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "12345"},
		"chunked": {"", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n"},
		"interim": {"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", "1"},
		"folded":  {"", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 1\r\n\r\n", "1"},
	} {
		whole := parts.interim + parts.head + parts.body
		var requests []live.Request
		for at := range len(whole) + 1 {
			requests = append(requests, live.Request{Path: "/" + strconv.Itoa(at)})
		}
		inBody := uint64(len(parts.body))
		if parts.body == "" {
			inBody = 0
		}
		inHead := uint64(len(whole)) - inBody - 1
		for how, want := range map[string]map[string]uint64{
			"closed": {"failed:eof": 1, "failed:short_head": inHead, "failed:short_body": inBody, "good": 1},
			"reset":  {"failed:reset": 1 + inHead, "failed:reset_body": inBody, "good": 1},
		} {
			for _, engine := range plain() {
				t.Run(fmt.Sprintf("%s %s/%s", name, how, engine), func(t *testing.T) {
					t.Parallel()
					if how == "reset" && runtime.GOOS != "linux" {
						t.Skip("elsewhere a reset can take what came before it away")
					}
					s := startRogue(t, func(c *peer) {
						r, ok := c.request()
						if !ok {
							return
						}
						at, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
						if err != nil || at > len(whole) {
							return
						}
						if at == len(whole) {
							c.answer(whole)
							return
						}
						c.say(whole[:at])
						if how == "reset" {
							c.reset()
						}
					})
					r := trip{rate: 200, requests: requests, http: live.HTTP{NoKeepAlive: true}}
					r.length = perSecond(len(requests), 200)
					o := r.run(t, s.url, engine)
					o.check(t, s, false)
					if got := o.endings(); !maps.Equal(got, want) {
						t.Errorf("ended as %s, want %s", say(got), say(want))
					}
				})
			}
		}
	}
}
