package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
)

// Limits of what the headers and accept stages read.
const (
	maxHead  = 64 << 10  // bytes of a request head
	maxLine  = 8 << 10   // bytes of one of its lines; the size of a connection's buffer
	maxSkip  = 256 << 10 // bytes of a refused body that are read to keep the connection
	maxExtra = 4 << 10   // bytes of trailers after a chunked body
)

// head is what the server wants to know of a request head, beside the facts.
type head struct {
	headOnly bool // HEAD: the answer has no body
	length   int64
	chunked  bool
	close    bool   // the connection ends with this request
	expect   bool   // the caller waits for 100 Continue before it sends the body
	signed   string // Knee-Signature
}

// body reports whether a body follows the head.
func (h *head) body() bool { return h.chunked || h.length > 0 }

// A headError says what is wrong with a request head, and with which status to
// say so.
type headError struct {
	status int
	what   string
}

func (e *headError) Error() string { return e.what }

func badHead(format string, args ...any) error {
	return &headError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// readHead reads a request head of HTTP/1.0 or 1.1 into h and c.
func (s *Server) readHead(br *bufio.Reader, h *head, c *call) error {
	*h = head{length: -1}
	line, err := readLine(br)
	if err != nil {
		return err
	}
	if len(line) == 0 { // one empty line before a request is allowed
		if line, err = readLine(br); err != nil {
			return err
		}
	}
	if err := h.requestLine(line); err != nil {
		return err
	}
	for size := len(line); ; {
		if line, err = readLine(br); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if len(line) == 0 {
			break
		}
		if size += len(line); size > maxHead {
			return &headError{http.StatusRequestHeaderFieldsTooLarge, "the head is too long"}
		}
		if err := s.field(line, h, c); err != nil {
			return err
		}
	}
	if h.chunked && h.length >= 0 {
		return badHead("both content-length and transfer-encoding")
	}
	return nil
}

// readLine returns a line without its end; it is valid until the next read.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, &headError{http.StatusRequestHeaderFieldsTooLarge, "a line of the head is too long"}
		}
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// requestLine takes in "METHOD target HTTP/1.x".
func (h *head) requestLine(line []byte) error {
	method, rest, ok := bytes.Cut(line, []byte(" "))
	target, version, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok || !ok2 || len(method) == 0 || len(target) == 0 {
		return badHead("malformed request line")
	}
	switch string(version) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.close = true
	default:
		return &headError{http.StatusHTTPVersionNotSupported, "want HTTP/1.1 or HTTP/1.0"}
	}
	h.headOnly = string(method) == http.MethodHead
	return nil
}

// longestName is the longest name of a header that is read.
const longestName = len(headerEnvoy)

// field takes in one "Name: value".
func (s *Server) field(line []byte, h *head, c *call) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || line[colon-1] == ' ' || line[0] == ' ' || line[0] == '\t' {
		return badHead("malformed header line")
	}
	if colon > longestName {
		return nil
	}
	var buf [longestName]byte
	name := buf[:colon]
	for i, b := range line[:colon] {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		name[i] = b
	}
	value := bytes.TrimSpace(line[colon+1:])
	switch string(name) {
	case "content-length":
		n, err := strconv.ParseUint(string(value), 10, 62)
		if err != nil || h.length >= 0 && h.length != int64(n) {
			return badHead("malformed content-length")
		}
		h.length = int64(n)
	case "transfer-encoding":
		if !strings.EqualFold(string(value), "chunked") {
			return &headError{http.StatusNotImplemented, "want no transfer-encoding, or chunked"}
		}
		h.chunked = true
	case "connection":
		h.connection(value)
	case "expect":
		h.expect = strings.EqualFold(string(value), "100-continue")
	case "knee-signature":
		h.signed = string(value)
	case headerClass, headerClient, headerWork, headerTimeout, headerGRPC, headerEnvoy, headerTenant, headerCriticality, headerCost,
		headerAttempt, headerProtected:
		s.header(c, string(name), string(value))
	}
	return nil
}

func (h *head) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte(",")) {
		switch option = bytes.TrimSpace(option); {
		case strings.EqualFold(string(option), "close"):
			h.close = true
		case strings.EqualFold(string(option), "keep-alive"):
			h.close = false
		}
	}
}

// errTooLong says that a body exceeds what the server reads of it.
var errTooLong = errors.New("body too long")

// reader returns the body that follows h, which must have one.
func (h *head) reader(br *bufio.Reader) io.Reader {
	if h.chunked {
		return httputil.NewChunkedReader(br)
	}
	return io.LimitReader(br, h.length)
}

// readBody reads the body that follows h, at most limit bytes, and hands it to
// w; an error leaves the connection unusable.
func (h *head) readBody(br *bufio.Reader, w io.Writer, limit int64) error {
	if h.length > limit {
		return errTooLong
	}
	n, err := io.Copy(w, io.LimitReader(h.reader(br), limit+1))
	switch {
	case err != nil:
		return err
	case n > limit:
		return errTooLong
	case h.chunked:
		return skipTrailers(br)
	case n < h.length:
		return io.ErrUnexpectedEOF
	}
	return nil
}

// skipTrailers reads up to the empty line that ends a chunked body.
func skipTrailers(br *bufio.Reader) error {
	for size := 0; ; {
		line, err := readLine(br)
		if err != nil || len(line) == 0 {
			return err
		}
		if size += len(line); size > maxExtra {
			return errTooLong
		}
	}
}
