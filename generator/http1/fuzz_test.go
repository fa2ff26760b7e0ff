package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// FuzzParser compares the parser with that of net/http, on any bytes, given in any
// pieces.
func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1",
		"HTTP/1.1 200 OK\nX-Reason: a\n b\ncontent-length: 0\n\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 204\r\nConnection: keep-alive\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.1 101 Switching\r\nConnection: close, x\r\n\r\nab",
	} {
		f.Add([]byte(s), false, uint8(3))
		f.Add([]byte(s), true, uint8(200))
	}
	f.Fuzz(func(t *testing.T, text []byte, head bool, piece uint8) {
		p := newTestParser()
		p.limits = Limits{Head: len(text) + 1, Interim: len(text), Look: len(text)}
		pieces, piecesErr := parse(p, string(text), head, int(piece)+1)
		got, err := parse(p, string(text), head, len(text)+1)
		if err != piecesErr || err == nil && got != pieces {
			t.Fatalf("in pieces of %d: %+v, %v; in one: %+v, %v", int(piece)+1, pieces, piecesErr, got, err)
		}
		want, netErr := reference(text, head)
		switch {
		case err != nil && netErr == nil:
			if !weMayRefuse(err, got.Left) {
				t.Errorf("%v at %q; net/http: %+v", err, got.Left, want)
			}
		case err == nil && netErr != nil:
			if !theyMayRefuse(netErr, text) {
				t.Errorf("%+v; net/http: %v", got, netErr)
			}
		case err == nil:
			if bytes.Contains(bytes.ToLower(text), []byte("transfer-encoding")) {
				want.Keep = want.Keep && got.Keep // we do not trust lengths that contradict each other
			}
			if got != want {
				t.Errorf("%+v; net/http: %+v", got, want)
			}
		}
	})
}

// strictStatusLine is what RFC 9112 asks for, with a bare line feed.
var strictStatusLine = regexp.MustCompile(`^HTTP/1\.[0-9] [1-9][0-9][0-9]( [^\n]*)?\r?\n`)

// spaceInName is a name with a space, which net/http takes for a part of it.
var spaceInName = regexp.MustCompile(`^[^:\n]* [^:\n]*:`)

// weMayRefuse reports whether it is on purpose that we refuse an answer at this
// place that net/http accepts.
func weMayRefuse(err error, at string) bool {
	switch err {
	case errStatusLine:
		return !strictStatusLine.MatchString(at)
	case errName:
		return spaceInName.MatchString(at)
	}
	return false
}

// theyMayRefuse reports whether it is on purpose that we accept an answer that
// net/http refuses with this error.
func theyMayRefuse(err error, text []byte) bool {
	message := err.Error()
	for _, known := range []struct{ message, with string }{
		{"unsupported transfer encoding", ""},    // RFC 9112, section 6.3, lets the body end with the connection
		{"too many transfer encodings", ""},      // the same
		{"multiple Content-Length", "0"},         // 01 is 1
		{"suspiciously long trailer", "\n"},      // lines of a trailer may end with a mere line feed
		{"unexpected EOF reading trailer", "\n"}, // the same
		{"invalid byte in chunk length", ";"},    // a space may stand before an extension
		{"contains too much non-data", ";"},      // the lines of chunks are bounded one by one
	} {
		if strings.Contains(message, known.message) && bytes.Contains(text, []byte(known.with)) {
			return true
		}
	}
	return false
}

// reference is what net/http makes of the same bytes.
func reference(text []byte, head bool) (outcome, error) {
	source := bytes.NewReader(text)
	r := bufio.NewReaderSize(source, max(16, len(text)+1))
	method := http.MethodGet
	if head {
		method = http.MethodHead
	}
	for {
		answer, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return outcome{}, err
		}
		if answer.StatusCode/100 == 1 && answer.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		var body []byte
		if answer.StatusCode != http.StatusSwitchingProtocols {
			if body, err = io.ReadAll(answer.Body); err != nil {
				return outcome{}, err
			}
		}
		left := string(text[len(text)-source.Len()-r.Buffered():])
		endless := answer.ContentLength < 0 && answer.TransferEncoding == nil && !head && !bodiless(answer.StatusCode)
		keep := !answer.Close && !endless && answer.StatusCode != http.StatusSwitchingProtocols
		return outcome{answer.StatusCode, string(body), int64(len(body)), keep, left, strings.Trim(answer.Header.Get("X-Reason"), " \t")}, nil
	}
}

func bodiless(status int) bool { return status == 204 || status == 304 }
