package live

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// readRequest reads one request with its body; false when there is none.
func readRequest(in *bufio.Reader) (*http.Request, bool) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil, false
	}
	_, err = io.Copy(io.Discard, r.Body)
	return r, err == nil
}

// answering returns a talk that reads one request and writes text.
func answering(text string, then func(*net.TCPConn)) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		if _, ok := readRequest(bufio.NewReader(c)); !ok {
			return
		}
		io.WriteString(c, text)
		if then != nil {
			then(c)
		}
	}
}

// reset closes c with a reset instead of an orderly end.
func reset(c *net.TCPConn) { c.SetLinger(0) }

// untilClosed waits until the other side hangs up.
func untilClosed(c *net.TCPConn) { io.Copy(io.Discard, c) }

func TestFailureKinds(t *testing.T) {
	for name, test := range map[string]struct {
		talk func(*net.TCPConn)
		want string
		body []byte // of the request
	}{
		"closed instead of an answer": {talk: answering("", nil), want: EOF},
		"reset instead of an answer":  {talk: answering("", reset), want: Reset},
		"head cut off":                {talk: answering("HTTP/1.1 200 OK\r\nContent-Le", nil), want: ShortHead},
		"body shorter than declared":  {talk: answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", nil), want: ShortBody},
		"chunks without an end":       {talk: answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", nil), want: ShortBody},
		"chunk size not a number":     {talk: answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", untilClosed), want: Malformed},
		"reset within the body":       {talk: answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", reset), want: ResetBody},
		"not http":                    {talk: answering("SSH-2.0-OpenSSH_9.6\r\n\r\n", untilClosed), want: Malformed},
		"head too large":              {talk: answering("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 70<<10), untilClosed), want: HeadTooLarge},
		"status that is error":        {talk: answering("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", untilClosed), want: "status_500"},
		"unknown status":              {talk: answering("HTTP/1.1 599 What\r\nContent-Length: 0\r\n\r\n", untilClosed), want: "status_599"},
		"redirect":                    {talk: answering("HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", untilClosed), want: "status_301"},
		"switching protocols":         {talk: answering("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", untilClosed), want: "status_101"},
		"reset while uploading": {talk: func(c *net.TCPConn) {
			io.ReadFull(c, make([]byte, 1024))
			reset(c)
		}, want: ResetUpload, body: make([]byte, 32<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			overPlain(t, func(t *testing.T, engine Engine) {
				s := serveRaw(t, test.talk)
				method := "GET"
				if test.body != nil {
					method = "POST"
				}
				r := trip{
					url: s.url, rate: 100, length: 50 * time.Millisecond,
					options: Options{Engine: engine, Requests: []Request{{Method: method, Body: test.body}}, HTTP: HTTP{NoKeepAlive: true}},
				}.run(t)
				want := map[string]uint64{test.want: 5}
				if r.tally.Failed != 5 || !maps.Equal(r.tally.FailedBy, want) {
					t.Errorf("failed %d by %v, good %d: want %v", r.tally.Failed, r.tally.FailedBy, r.tally.Good, want)
				}
				if n := s.connections(); n != 5 {
					t.Errorf("the server saw %d connections for 5 requests", n)
				}
			})
		})
	}
}

func TestConnectFailures(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	notTLS := serveRaw(t, answering("HTTP/1.1 400 Bad Request\r\n\r\n", nil))
	for name, test := range map[string]struct{ url, want string }{
		"nobody listens":    {"http://" + closed.Addr().String(), Refused},
		"no such name":      {"http://name.invalid:1", DNS},
		"no tls over there": {"https" + strings.TrimPrefix(notTLS.url, "http"), TLS},
	} {
		t.Run(name, func(t *testing.T) {
			overPlain(t, func(t *testing.T, engine Engine) {
				if test.want == TLS {
					engine = Auto
				}
				r := trip{url: test.url, rate: 100, length: 50 * time.Millisecond, options: Options{Engine: engine}}.run(t)
				if r.tally.FailedBy[test.want] != 5 {
					t.Errorf("failed by %v: want 5 %s", r.tally.FailedBy, test.want)
				}
				if r.stats.OpenFailed == 0 || r.stats.Opened != 0 {
					t.Errorf("opened %d, could not open %d: want none and some", r.stats.Opened, r.stats.OpenFailed)
				}
			})
		})
	}
}

// Answers that look odd and are complete.
func TestCompleteAnswers(t *testing.T) {
	for name, talk := range map[string]func(*net.TCPConn){
		"ended by the close":     answering("HTTP/1.1 200 OK\r\n\r\nto the end", nil),
		"http 1.0":               answering("HTTP/1.0 200 OK\r\n\r\nto the end", nil),
		"half closed":            answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", func(c *net.TCPConn) { c.CloseWrite(); untilClosed(c) }),
		"announced close":        answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", nil),
		"early hints":            answering("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", untilClosed),
		"continue nobody wanted": answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", untilClosed),
		"trailers":               answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3;ext=1\r\nabc\r\n0\r\nX: y\r\n\r\n", untilClosed),
		"no content":             answering("HTTP/1.1 204 No Content\r\n\r\n", untilClosed),
		"claims to be gzip":      answering("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain", untilClosed),
	} {
		t.Run(name, func(t *testing.T) {
			overPlain(t, func(t *testing.T, engine Engine) {
				r := trip{
					url: serveRaw(t, talk).url, rate: 100, length: 50 * time.Millisecond,
					options: Options{Engine: engine, HTTP: HTTP{NoKeepAlive: true}},
				}.run(t)
				if r.tally.Good != 5 {
					t.Errorf("good %d, failed by %v: want 5 good", r.tally.Good, r.tally.FailedBy)
				}
			})
		})
	}
}

func TestHeadHasNoBody(t *testing.T) {
	s := serveRaw(t, func(c *net.TCPConn) {
		for in := bufio.NewReader(c); ; {
			if _, ok := readRequest(in); !ok {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		}
	})
	overPlain(t, func(t *testing.T, engine Engine) {
		r := trip{
			url: s.url, rate: 100, length: 100 * time.Millisecond,
			options: Options{Engine: engine, Requests: []Request{{Method: "HEAD"}}},
		}.run(t)
		if r.tally.Good != 10 || r.stats.BodyBytes != 0 {
			t.Errorf("good %d with %d bytes of body: want 10 with none", r.tally.Good, r.stats.BodyBytes)
		}
	})
}

// net/http asks for compression and repeats requests unless it is kept from it.
func TestNothingIsAddedToTheRequest(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		heads := make(chan string, 1)
		s := serveRaw(t, func(c *net.TCPConn) {
			head := make([]byte, 4096)
			n, _ := c.Read(head)
			heads <- string(head[:n])
			io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		})
		url := strings.Replace(s.url, "http://", "HTTP://u:secret@", 1) + "/a%20b?x=1&y=%7e#part"
		trip{
			url: url, rate: 10, length: 100 * time.Millisecond,
			options: Options{Engine: engine, Requests: []Request{{Header: http.Header{"Host": {"other.example"}}}}},
		}.run(t)
		got := <-heads
		want := fmt.Sprintf("GET /a%%20b?x=1&y=%%7e HTTP/1.1\r\nHost: other.example\r\nUser-Agent: knee\r\nAuthorization: Basic dTpzZWNyZXQ=\r\n\r\n")
		if got != want {
			t.Errorf("sent\n%q\nwant\n%q", got, want)
		}
	})
}
