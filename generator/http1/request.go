package http1

import (
	"slices"
	"strconv"
)

// A Request is a request as it goes over the wire, but for the fields that
// differ from one sending to the next.
type Request struct {
	head     []byte
	body     []byte
	headOnly bool
}

// A Field is one field of a head.
type Field struct{ Name, Value string }

// NewRequest prepares a request: its request line, Host, fields, and those that its
// body and close ask for. Its parts are taken as they are: whoever calls has
// checked that they can stand in a request, and that no field says where the
// message goes or ends. With close, the connection is asked to carry no further
// request.
func NewRequest(method, path, host string, fields []Field, body []byte, close bool) *Request {
	r := &Request{body: body, headOnly: method == "HEAD"}
	b := append(r.head, method...)
	b = append(append(append(b, ' '), path...), " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", host)
	for _, f := range fields {
		b = appendField(b, f.Name, f.Value)
	}
	if len(body) > 0 || method == "POST" || method == "PUT" || method == "PATCH" {
		b = appendField(b, "Content-Length", strconv.Itoa(len(body)))
	}
	if close {
		b = appendField(b, "Connection", "close")
	}
	r.head = slices.Clip(b)
	return r
}

// AppendHead appends the head to b, without the empty line that ends it: fields of
// this one sending may follow, then EndHead.
func (r *Request) AppendHead(b []byte) []byte { return append(b, r.head...) }

// Body returns what follows the head; nil when nothing does.
func (r *Request) Body() []byte { return r.body }

// HeadOnly reports whether the answer has no body, whatever its head says.
func (r *Request) HeadOnly() bool { return r.headOnly }

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), "\r\n"...)
}

// EndHead appends the empty line that ends a head to b.
func EndHead(b []byte) []byte { return append(b, "\r\n"...) }
