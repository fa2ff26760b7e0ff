package http1

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// fields that the tests keep.
var testFields = NewFields("X-Reason", "Retry-After")

var testLimits = Limits{Head: 4 << 10, Interim: 5, Look: 64}

func newTestParser() *Parser {
	p := &Parser{}
	p.Init(testLimits, testFields)
	return p
}

// outcome is what a parser makes of bytes after which the connection ends.
type outcome struct {
	Status int
	Body   string
	Bytes  int64
	Keep   bool
	Left   string // that does not belong to the answer
	Reason string // X-Reason
}

// parse gives p bytes in pieces of the given size.
func parse(p *Parser, text string, head bool, piece int) (outcome, error) {
	p.Begin(head)
	rest := []byte(text)
	for {
		n := min(piece, len(rest))
		if n == 0 {
			if p.EOF() {
				break
			}
			return outcome{}, errCut
		}
		taken, done, err := p.Feed(rest[:n])
		rest = rest[taken:]
		if err != nil {
			return outcome{Left: string(rest)}, err
		}
		if done {
			break
		}
	}
	return outcome{p.Status(), string(p.Body()), p.BodyBytes(), p.KeepAlive(), string(rest), string(p.Value("X-Reason"))}, nil
}

var errCut = errors.New("cut off")

func TestParser(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, test := range []struct {
		name string
		text string
		head bool // answers a HEAD
		want outcome
		err  error
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, outcome{200, "hello", 5, true, "", ""}, nil},
		{"left over", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1", false, outcome{200, "hello", 5, true, "HTTP/1.1", ""}, nil},
		{"the start of a body is kept", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + long, false, outcome{200, long[:64], 100, true, "", ""}, nil},
		{"lower-case names", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-reason: a b\r\n\r\n", false, outcome{200, "", 0, true, "", "a b"}, nil},
		{"no reason phrase", "HTTP/1.1 503\r\nContent-Length:0\r\n\r\n", false, outcome{503, "", 0, true, "", ""}, nil},
		{"an empty reason phrase", "HTTP/1.1 503 \r\nContent-Length:0\r\n\r\n", false, outcome{503, "", 0, true, "", ""}, nil},
		{"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nab", false, outcome{200, "ab", 2, true, "", ""}, nil},
		{"a folded field", "HTTP/1.1 200 OK\r\nX-Reason: one\r\n\t two\r\n  \r\nContent-Length: 0\r\n\r\n", false, outcome{200, "", 0, true, "", "one two"}, nil},
		{"a folded length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 3\r\n\r\nabc", false, outcome{200, "abc", 3, true, "", ""}, nil},
		{"a folded field that nobody wants", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nOther: 1\r\n 2\r\n\r\n", false, outcome{200, "", 0, true, "", ""}, nil},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", false, outcome{200, "a", 1, true, "", ""}, nil},
		{"the first of two values", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Reason: a\r\nX-Reason: b\r\n\r\n", false, outcome{200, "", 0, true, "", "a"}, nil},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nab", false, outcome{200, "ab", 2, false, "", ""}, nil},
		{"close", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", false, outcome{200, "", 0, false, "", ""}, nil},
		{"version 1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false, outcome{200, "", 0, false, "", ""}, nil},
		{"version 1.0, kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", false, outcome{200, "", 0, true, "", ""}, nil},
		{"version 1.0 with a coding", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\na", false, outcome{200, "a", 1, false, "", ""}, nil},
		{"204 has no body", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", false, outcome{204, "", 0, true, "abc", ""}, nil},
		{"304 has no body", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", false, outcome{304, "", 0, true, "", ""}, nil},
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, outcome{200, "", 0, true, "", ""}, nil},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;x=\"y;z\"\r\n0123456789\r\n000\r\n\r\nnext", false, outcome{200, "hello0123456789", 15, true, "next", ""}, nil},
		{"trailer fields", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 ; e\r\na\r\n0\r\nX-Reason: no\r\n more\r\n\r\n", false, outcome{200, "a", 1, true, "", ""}, nil},
		{"chunks win over a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", false, outcome{200, "a", 1, false, "", ""}, nil},
		{"another last coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\nContent-Length: 1\r\n\r\nabc", false, outcome{200, "abc", 3, false, "", ""}, nil},
		{"interim answers", "HTTP/1.1 103 Early Hints\r\nX-Reason: hint\r\n\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", false, outcome{200, "a", 1, true, "", ""}, nil},
		{"a change of protocols is the answer", "HTTP/1.1 101 Switching Protocols\r\n\r\n??", false, outcome{101, "", 0, false, "??", ""}, nil},
		{"nothing", "", false, outcome{}, errCut},
		{"cut in the status line", "HTTP/1.1 20", false, outcome{}, errCut},
		{"cut in the head", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", false, outcome{}, errCut},
		{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false, outcome{}, errCut},
		{"cut in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", false, outcome{}, errCut},
		{"cut before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", false, outcome{}, errCut},
		{"cut in the trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: b\r\n", false, outcome{}, errCut},
		{"cut after an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", false, outcome{}, errCut},
		{"garbage", "SSH-2.0-OpenSSH_9.2\r\n", false, outcome{}, errStatusLine},
		{"an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", false, outcome{}, errStatusLine},
		{"another version", "HTTP/2.0 200 OK\r\n\r\n", false, outcome{}, errStatusLine},
		{"no version", "HTTP/1 200 OK\r\n\r\n", false, outcome{}, errStatusLine},
		{"four digits", "HTTP/1.1 2000 OK\r\n\r\n", false, outcome{}, errStatusLine},
		{"two digits", "HTTP/1.1 20 OK\r\n\r\n", false, outcome{}, errStatusLine},
		{"no digits", "HTTP/1.1 abc OK\r\n\r\n", false, outcome{}, errStatusLine},
		{"a status below 100", "HTTP/1.1 099 OK\r\n\r\n", false, outcome{}, errStatusLine},
		{"no colon", "HTTP/1.1 200 OK\r\nContent-Length 0\r\n\r\n", false, outcome{}, errNoColon},
		{"no name", "HTTP/1.1 200 OK\r\n: 0\r\n\r\n", false, outcome{}, errName},
		{"a space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n", false, outcome{}, errName},
		{"a fold before the first field", "HTTP/1.1 200 OK\r\n Content-Length: 0\r\n\r\n", false, outcome{}, errFold},
		{"a carriage return in a value", "HTTP/1.1 200 OK\r\nX-Reason: a\rb\r\n\r\n", false, outcome{}, errValue},
		{"a zero byte in a value", "HTTP/1.1 200 OK\r\nOther: \x00\r\n\r\n", false, outcome{}, errValue},
		{"a control character in a fold", "HTTP/1.1 200 OK\r\nOther: a\r\n \x01\r\n\r\n", false, outcome{}, errValue},
		{"different lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", false, outcome{}, errLengths},
		{"a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\na", false, outcome{}, errLength},
		{"a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false, outcome{}, errLength},
		{"a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na", false, outcome{}, errLength},
		{"an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", false, outcome{}, errLength},
		{"a length that no number holds", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", false, outcome{}, errLength},
		{"a bad length of a 204", "HTTP/1.1 204 OK\r\nContent-Length: x\r\n\r\n", false, outcome{}, errLength},
		{"a bad size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", false, outcome{}, errChunkSize},
		{"no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", false, outcome{}, errChunkSize},
		{"a size that no number holds", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00000000000000001\r\n", false, outcome{}, errChunkSize},
		{"a size that ends with a mere line feed", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", false, outcome{}, errChunkSize},
		{"a long extension", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 5000) + "\r\na", false, outcome{}, errChunkLine},
		{"a chunk longer than its size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", false, outcome{}, errChunkEnd},
		{"too large a head", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 4<<10) + "\r\n\r\n", false, outcome{}, errHead},
		{"too large a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("x: y\r\n", 1000) + "\r\n", false, outcome{}, errHead},
		{"too many interim answers", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 6) + "HTTP/1.1 200 OK\r\n\r\n", false, outcome{}, errInterim},
	} {
		for _, piece := range []int{1 << 20, 1, 7} {
			t.Run(fmt.Sprintf("%s/%d", test.name, piece), func(t *testing.T) {
				p := newTestParser()
				got, err := parse(p, test.text, test.head, piece)
				if err != test.err {
					t.Fatalf("error %v, want %v", err, test.err)
				}
				if err == nil && got != test.want {
					t.Errorf("got %+v, want %+v", got, test.want)
				}
			})
		}
	}
}

// A parser is used for many answers; nothing of one may show in the next.
func TestParserForgets(t *testing.T) {
	p := newTestParser()
	for _, first := range []string{
		"HTTP/1.1 200 OK\r\nX-Reason: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nX-Rea",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;",
		"HTTP/1.1 200 OK\r\nX-Reason: a\r\nno colon\r\n",
	} {
		_, _ = parse(p, first, false, 3)
		got, err := parse(p, "HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n", false, 100)
		if want := (outcome{Status: 201, Keep: true}); err != nil || got != want {
			t.Errorf("after %q: got %+v, %v, want %+v", first, got, err, want)
		}
	}
}

func TestParserSaysHowFarItCame(t *testing.T) {
	p := newTestParser()
	p.Begin(false)
	if p.Started() || p.HeadDone() {
		t.Error("started, or the head done, before anything came")
	}
	_, _, _ = p.Feed([]byte("H"))
	if !p.Started() || p.HeadDone() {
		t.Error("want it to have started, and the head not to be done")
	}
	_, _, _ = p.Feed([]byte("TTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\n"))
	if p.HeadDone() {
		t.Error("the head of an interim answer is not that of the answer")
	}
	_, _, _ = p.Feed([]byte("Content-Length: 9\r\n\r\n"))
	if !p.HeadDone() {
		t.Error("want the head to be done")
	}
}

func TestParserDoesNotAllocate(t *testing.T) {
	p := newTestParser()
	text := []byte("HTTP/1.1 503 Service Unavailable\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\nX-Reason: queue_full\r\nRetry-After: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	allocated := testing.AllocsPerRun(100, func() {
		p.Begin(false)
		for i := 0; i < len(text); i += 40 {
			if _, _, err := p.Feed(text[i:min(i+40, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		if string(p.Value("X-Reason")) != "queue_full" || !p.Has("Retry-After") || !p.Holds("Retry-After", "1") || p.Has("X") {
			t.Fatal("the fields are wrong")
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations per answer, want none", allocated)
	}
}

// What an answer has made a parser keep is given back before the next one.
func TestParserKeepsLittleWhileItRests(t *testing.T) {
	p := &Parser{}
	p.Init(Limits{Head: 1 << 20, Look: 1 << 16}, testFields)
	big := strings.Repeat("x", 60_000)
	text := "HTTP/1.1 200 OK\r\nX-Reason: " + big + "\r\nContent-Length: 60000\r\n\r\n" + big
	if _, err := parse(p, text, false, 1000); err != nil {
		t.Fatal(err)
	}
	p.Begin(false)
	if kept := cap(p.body) + cap(p.part) + cap(p.store); kept > 3*largestKept {
		t.Errorf("%d bytes are kept, want at most %d", kept, 3*largestKept)
	}
}

func BenchmarkParser(b *testing.B) {
	text := []byte("HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nok\n")
	p := newTestParser()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p.Begin(false)
		if _, done, err := p.Feed(text); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}
