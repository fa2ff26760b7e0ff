package http1

// Fields are the header fields that parsers keep the values of.
type Fields struct {
	names    []string // canonical; the first ones are those that frame a message
	byLength [longestName + 1][]uint8
}

// longestName bounds the names of fields that can be kept.
const longestName = 64

// The fields that say where a message ends and what comes of the connection.
const (
	contentLength = iota
	transferEncoding
	connection
)

// NewFields returns the fields of these names, which are canonical as those of
// package net/textproto. More than 200, or one longer than
// 64 bytes, cannot be kept: NewFields panics.
func NewFields(names ...string) *Fields {
	f := &Fields{}
	f.add("Content-Length")
	f.add("Transfer-Encoding")
	f.add("Connection")
	for _, name := range names {
		f.add(name)
	}
	return f
}

func (f *Fields) add(name string) {
	if len(name) > longestName || len(f.names) > 200 {
		panic("http1: too many fields, or one whose name is too long")
	}
	for _, known := range f.byLength[len(name)] {
		if f.names[known] == name {
			return
		}
	}
	f.byLength[len(name)] = append(f.byLength[len(name)], uint8(len(f.names)))
	f.names = append(f.names, name)
}

// find returns which field has this name, in any case; -1 when it is not kept.
func (f *Fields) find(name []byte) int {
	if len(name) > longestName {
		return -1
	}
	for _, i := range f.byLength[len(name)] {
		if equalFold(name, f.names[i]) {
			return int(i)
		}
	}
	return -1
}

// equalFold reports whether a and b, which are as long as each other, differ in
// nothing but the case of ASCII letters.
func equalFold(a []byte, b string) bool {
	for i := range a {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// class says where a byte may stand.
type class uint8

const (
	inName  class = 1 << iota // in a token: RFC 9110, section 5.6.2
	inValue                   // in the value of a field: section 5.5
)

var classes = func() (all [256]class) {
	for c := range all {
		if c == '\t' || c >= ' ' && c != 0x7f {
			all[c] |= inValue
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		all[c] |= inName
	}
	return all
}()

// consists reports whether all bytes of b are of class c.
func consists(b []byte, c class) bool {
	for _, x := range b {
		if classes[x]&c == 0 {
			return false
		}
	}
	return true
}
