package live

import (
	"errors"
	"strings"

	"golang.org/x/net/http2"

	"knee/generator/client"
)

// Kinds of failure of HTTP/2, beside h2_ and the name of an error code, such as
// h2_refused_stream or h2_enhance_your_calm.
const (
	NotH2    = "not_h2"    // the server does not speak HTTP/2
	H2GoAway = "h2_goaway" // a request that an orderly GOAWAY has cut off
)

// errNotH2 is what a connection to a server that does not speak HTTP/2 fails with.
var errNotH2 = errors.New("the server does not speak HTTP/2")

// A handshakeError is one that came after the network connection stood.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// h2ConnectFailure returns what became of an attempt without a connection.
func h2ConnectFailure(err error) client.Answer {
	if errors.Is(err, errNotH2) || strings.Contains(err.Error(), "no application protocol") {
		return client.Answer{Result: client.Failed, Reason: NotH2}
	}
	var handshake *handshakeError
	return connectFailure(err, errors.As(err, &handshake))
}

// h2Kind names the failure of a stream that was reset.
func h2Kind(code http2.ErrCode) string {
	name := strings.ToLower(code.String())
	if strings.HasPrefix(name, "unknown") {
		name = "unknown_error"
	}
	return "h2_" + name
}

// goAwayKind names the failure of a stream that a GOAWAY has cut off.
func goAwayKind(code http2.ErrCode) string {
	if code == http2.ErrCodeNo {
		return H2GoAway
	}
	return h2Kind(code)
}
