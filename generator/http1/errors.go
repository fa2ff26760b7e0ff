package http1

// An Error says what is wrong with an answer.
type Error struct {
	Kind Kind
	what string
}

func (e *Error) Error() string { return e.what }

// Kind is what an Error is about.
type Kind uint8

// Kinds of errors.
const (
	Malformed      Kind = iota // not HTTP/1.1
	HeadTooLarge               // the head is larger than Limits.Head
	TooManyInterim             // more interim answers than Limits.Interim
)

var (
	errStatusLine = &Error{Malformed, "the status line is not HTTP/1.x and three digits"}
	errFold       = &Error{Malformed, "the first field of the head begins with a space"}
	errNoColon    = &Error{Malformed, "a field without a colon"}
	errName       = &Error{Malformed, "a field whose name is not a token"}
	errValue      = &Error{Malformed, "a field whose value holds a control character"}
	errLength     = &Error{Malformed, "a Content-Length that is not a number"}
	errLengths    = &Error{Malformed, "different Content-Lengths"}
	errChunkSize  = &Error{Malformed, "a chunk whose size is not a hexadecimal number"}
	errChunkLine  = &Error{Malformed, "the line of a chunk's size is too long"}
	errChunkEnd   = &Error{Malformed, "a chunk that does not end where its size says"}
	errHead       = &Error{HeadTooLarge, "the head is too large"}
	errInterim    = &Error{TooManyInterim, "too many interim answers"}
)
