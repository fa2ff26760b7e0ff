package null

import (
	"bytes"
	"fmt"
	"strconv"
)

// What the server says, beside the answers.
const (
	fields     = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
	goOn       = "HTTP/1.1 100 Continue\r\n\r\n"
	badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	noLength   = "HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	longHead   = "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)

// An answer is what the server says to every request.
type answer struct {
	whole string
	head  int // of whole, in bytes: all that HEAD is answered with
}

func newAnswer(body []byte) answer {
	head := fmt.Sprintf(fields, len(body))
	return answer{whole: head + string(body), head: len(head)}
}

// mostHead is the longest head of a request that is waited for, in bytes.
const mostHead = 64 << 10

// An exchange is how far the requests of one connection have been read.
type exchange struct {
	answer  *answer
	pending []byte // the beginning of a head
	body    int64  // bytes that are left of a body
	reply   string // to the request whose body is being read
	last    bool   // no request is answered after this one
}

// take reads the bytes that came in, appends what is to be sent to out, and
// returns it with the number of heads that ended in in, and whether the
// connection is over once out is sent.
//
// A body counts as what Content-Length says. One that is chunked is refused,
// with 411, for to read it is work.
func (x *exchange) take(in, out []byte) (answers []byte, heads int, over bool) {
	if len(x.pending) > 0 {
		x.pending = append(x.pending, in...)
		in = x.pending
	}
	for {
		if x.reply != "" {
			n := min(x.body, int64(len(in)))
			in, x.body = in[n:], x.body-n
			if x.body > 0 {
				break
			}
			out, x.reply = append(out, x.reply...), ""
			if x.last {
				return out, heads, true
			}
		}
		for len(in) > 0 && (in[0] == '\r' || in[0] == '\n') {
			in = in[1:] // RFC 9112, section 2.2: empty lines before a request
		}
		end := bytes.Index(in, headEnd)
		if end < 0 {
			break
		}
		heads++
		var refusal string
		if out, refusal = x.head(in[:end+2], out); refusal != "" {
			return append(out, refusal...), heads, true
		}
		in = in[end+len(headEnd):]
	}
	if len(in) > mostHead {
		return append(out, longHead...), heads, true
	}
	x.pending = append(x.pending[:0], in...)
	return out, heads, false
}

var (
	headEnd   = []byte("\r\n\r\n")
	lineEnd   = []byte("\r\n")
	version10 = []byte(" HTTP/1.0")
	isHead    = []byte("HEAD ")
	length    = []byte("content-length")
	encoding  = []byte("transfer-encoding")
	expect    = []byte("expect")
	conn      = []byte("connection")
	hangUp    = []byte("close")
)

// head reads a head without its empty line, each line with its end. It returns
// what the request is refused with, "" when it is not.
func (x *exchange) head(head, out []byte) (answers []byte, refusal string) {
	first := bytes.Index(head, lineEnd)
	x.reply, x.body, x.last = x.answer.whole, 0, bytes.HasSuffix(head[:first], version10)
	if bytes.HasPrefix(head, isHead) {
		x.reply = x.reply[:x.answer.head]
	}
	waits := false
	for rest := head[first+len(lineEnd):]; len(rest) > 0; {
		end := bytes.Index(rest, lineEnd)
		line := rest[:end]
		rest = rest[end+len(lineEnd):]
		if len(line) == 0 || !interesting[line[0]] {
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, length):
			n, err := strconv.ParseUint(string(value), 10, 62)
			if err != nil {
				return out, badRequest
			}
			x.body = int64(n)
		case bytes.EqualFold(name, encoding):
			return out, noLength
		case bytes.EqualFold(name, expect):
			waits = true
		case bytes.EqualFold(name, conn):
			x.last = x.last || bytes.EqualFold(value, hangUp)
		}
	}
	if waits && x.body > 0 {
		out = append(out, goOn...)
	}
	return out, ""
}

// interesting are the first letters of the fields that are read.
var interesting = [256]bool{'c': true, 'C': true, 't': true, 'T': true, 'e': true, 'E': true}
