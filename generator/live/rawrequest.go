package live

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"knee/generator/http1"
	"knee/target/wire"
)

// readAtOnce is how much of a large answer is read at once.
const readAtOnce = 64 << 10

// mostInterim is how many interim answers (1xx) may come before an answer; a
// server that sends more is not going to answer. net/http allows as many.
const mostInterim = 5

// rawRequest returns p for the engines that write HTTP/1.1 themselves; with close
// a connection carries one request only.
func rawRequest(p *prepared, close bool) *http1.Request {
	fields := appendFields(nil, "User-Agent", p.header) // where everybody puts it
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		switch name {
		case "User-Agent":
		case "Content-Length", "Transfer-Encoding", "Trailer": // not the caller's to choose
		default:
			fields = appendFields(fields, name, p.header)
		}
	}
	return http1.NewRequest(p.method, p.path, p.host, fields, p.body, close)
}

func appendFields(fields []http1.Field, name string, header http.Header) []http1.Field {
	for _, value := range header[name] {
		fields = append(fields, http1.Field{Name: name, Value: value})
	}
	return fields
}

// appendCall appends to b, the head of a request, what our own server wants to
// know of one attempt.
func appendCall(b []byte, c *call) []byte {
	b = append(b, wire.Client+": "...)
	b = strconv.AppendUint(b, uint64(c.arrival.Client), 10)
	b = append(b, "\r\n"+wire.WorkNs+": "...)
	b = strconv.AppendInt(b, int64(c.arrival.Work), 10)
	b = append(b, "\r\n"+wire.TimeoutMs+": "...)
	b = wire.AppendMillis(b, c.left)
	b = append(b, "\r\n"+wire.Attempt+": "...)
	b = strconv.AppendInt(b, int64(c.number), 10)
	return append(b, "\r\n"...)
}

// parseKind names an answer that the parser refuses.
func parseKind(err error) string {
	var refused *http1.Error
	if !errors.As(err, &refused) {
		return Malformed
	}
	switch refused.Kind {
	case http1.HeadTooLarge:
		return HeadTooLarge
	case http1.TooManyInterim:
		return TooManyInterim
	}
	return Malformed
}

// parsed makes the header fields that a parser has kept those of an answer.
type parsed http1.Parser

func (p *parsed) get(name string) []byte { return (*http1.Parser)(p).Value(name) }

func (p *parsed) has(name string) bool { return (*http1.Parser)(p).Has(name) }

func (p *parsed) holds(name, value string) bool { return (*http1.Parser)(p).Holds(name, value) }
