package live

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"knee/target/wire"
)

// An h2Request is a prepared request for HTTP/2.
type h2Request struct {
	host     *h2Host
	block    []byte // its head in HPACK, which refers to nothing that earlier heads have left
	body     []byte
	headOnly bool // the answer has no body
	grpc     bool // it is a unary call
}

func newH2Request(p *prepared) *h2Request {
	fields := []hpack.HeaderField{
		{Name: ":method", Value: p.method},
		{Name: ":scheme", Value: p.target.scheme},
		{Name: ":authority", Value: p.host},
		{Name: ":path", Value: p.path},
	}
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		if ofConnection[name] {
			continue
		}
		for _, value := range p.header[name] {
			fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: value})
		}
	}
	if len(p.body) > 0 || p.method == "POST" || p.method == "PUT" || p.method == "PATCH" {
		fields = append(fields, hpack.HeaderField{Name: "content-length", Value: strconv.Itoa(len(p.body))})
	}
	return &h2Request{block: encodeFields(fields), body: p.body, headOnly: p.method == "HEAD", grpc: p.grpc}
}

// ofConnection are the fields that HTTP/2 has no place for (RFC 9113, section
// 8.2.2), and those that say how a message is framed.
var ofConnection = map[string]bool{
	"Connection": true, "Proxy-Connection": true, "Keep-Alive": true, "Transfer-Encoding": true, "Upgrade": true,
	"Content-Length": true, "Host": true,
}

// encodeFields returns fields in HPACK. They use its static table alone, so the
// bytes mean the same in every head of every connection.
func encodeFields(fields []hpack.HeaderField) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	// The first field is preceded by the new size of the table, which is for a
	// connection to say, once: see h2Conn.greet.
	_ = e.WriteField(hpack.HeaderField{Name: ":method", Value: "GET"}) // a bytes.Buffer does not fail
	b.Reset()
	for _, f := range fields {
		_ = e.WriteField(f)
	}
	return b.Bytes()
}

// appendH2Call appends to a head what our own server wants to know of one attempt.
func appendH2Call(b []byte, c *call) []byte {
	var number [24]byte
	b = appendLiteral(b, lowerClient, strconv.AppendUint(number[:0], uint64(c.arrival.Client), 10))
	b = appendLiteral(b, lowerWork, strconv.AppendInt(number[:0], int64(c.arrival.Work), 10))
	b = appendLiteral(b, lowerTimeout, wire.AppendMillis(number[:0], c.left))
	return appendLiteral(b, lowerAttempt, strconv.AppendInt(number[:0], int64(c.number), 10))
}

var (
	lowerClient  = strings.ToLower(wire.Client)
	lowerWork    = strings.ToLower(wire.WorkNs)
	lowerTimeout = strings.ToLower(wire.TimeoutMs)
	lowerAttempt = strings.ToLower(wire.Attempt)

	lowerGRPCTimeout = strings.ToLower(wire.GRPCTimeout)
)

// appendLiteral appends a field that is not to be put into the dynamic table: RFC
// 7541, section 6.2.2. Name and value are shorter than 127 bytes.
func appendLiteral(b []byte, name string, value []byte) []byte {
	b = append(append(b, 0, byte(len(name))), name...)
	return append(append(b, byte(len(value))), value...)
}

// wireNames returns canonical names by those that stand on the wire.
func wireNames(names []string) map[string]string {
	all := make(map[string]string, len(names))
	for _, name := range names {
		all[strings.ToLower(name)] = name
	}
	return all
}

// h2Fields are the fields of an answer that the judge looks at.
type h2Fields struct {
	names  []string // canonical
	values [][]byte
}

func (f *h2Fields) add(name, value string) {
	f.names = append(f.names, name)
	if n := len(f.values); n < cap(f.values) { // with the room that an earlier value has left
		f.values = f.values[:n+1]
		f.values[n] = append(f.values[n][:0], value...)
		return
	}
	f.values = append(f.values, []byte(value))
}

// reset returns f without fields, for reuse.
func (f *h2Fields) reset() h2Fields { return h2Fields{names: f.names[:0], values: f.values[:0]} }

func (f *h2Fields) get(name string) []byte {
	if i := slices.Index(f.names, name); i >= 0 {
		return f.values[i]
	}
	return nil
}

func (f *h2Fields) has(name string) bool { return slices.Contains(f.names, name) }

func (f *h2Fields) holds(name, value string) bool {
	for i := range f.names {
		if f.names[i] == name && string(f.values[i]) == value {
			return true
		}
	}
	return false
}
