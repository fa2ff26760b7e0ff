package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

func TestRequest(t *testing.T) {
	fields := []Field{{"User-Agent", "knee"}, {"X-B", "2"}, {"X-A", "1"}, {"X-B", "3"}}
	for name, c := range map[string]struct {
		request *Request
		want    string
		body    string
	}{
		"get":   {NewRequest("GET", "/a?b", "h:1", nil, nil, false), "GET /a?b HTTP/1.1\r\nHost: h:1\r\n\r\n", ""},
		"post":  {NewRequest("POST", "/", "h", fields, []byte("abc"), false), "POST / HTTP/1.1\r\nHost: h\r\nUser-Agent: knee\r\nX-B: 2\r\nX-A: 1\r\nX-B: 3\r\nContent-Length: 3\r\n\r\n", "abc"},
		"empty": {NewRequest("PUT", "/", "h", nil, nil, false), "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", ""},
		"close": {NewRequest("HEAD", "/", "h", nil, nil, true), "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := EndHead(c.request.AppendHead(nil))
			if string(b) != c.want || string(c.request.Body()) != c.body || c.request.HeadOnly() != (name == "close") {
				t.Errorf("%q and %q, want %q and %q", b, c.request.Body(), c.want, c.body)
			}
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(append(b, c.request.Body()...))))
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != c.body {
				t.Errorf("net/http reads the body %q, %v", body, err)
			}
		})
	}
}
