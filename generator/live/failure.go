package live

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"knee/generator/client"
)

// Kinds of failure, beside status_NNN.
const (
	Refused        = "refused"         // nobody listens
	Unreachable    = "unreachable"     // no way to the host
	ConnectTimeout = "connect_timeout" // connecting took longer than HTTP.ConnectTimeout
	DNS            = "dns"             // the name could not be resolved
	TLS            = "tls"             // the handshake failed
	Connect        = "connect"         // connecting failed in another way
	ResetConnect   = "reset_connect"   // reset before a byte of the request was sent
	ResetUpload    = "reset_upload"    // reset or closed while the body of the request was being sent
	ResetIdle      = "reset_idle"      // a kept connection turned out to be closed: the server gave it up while it was idle
	Reset          = "reset"           // reset instead of an answer
	EOF            = "eof"             // closed instead of an answer
	ShortHead      = "short_head"      // cut off within the head of the answer
	ShortBody      = "short_body"      // closed within the body of the answer
	ResetBody      = "reset_body"      // reset within the body of the answer
	Malformed      = "malformed"       // not HTTP
	HeadTooLarge   = "head_too_large"  // the head is larger than HTTP.MaxHead
	TooManyInterim = "too_many_1xx"    // interim answers instead of an answer
)

// Reasons of attempts that could not be sent.
const (
	Descriptors = "descriptors" // no file descriptor is left
	Ports       = "ports"       // no local port is left
)

// notSent returns why this machine could not open a connection; "" when it was
// not this machine's fault.
func notSent(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return Descriptors
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return Ports
	}
	return ""
}

// connectFailure returns what became of an attempt without a connection. A
// handshake error is one that came after the network connection stood.
func connectFailure(err error, handshake bool) client.Answer {
	if reason := notSent(err); reason != "" {
		return client.Answer{Result: client.NotSent, Reason: reason}
	}
	return client.Answer{Result: client.Failed, Reason: connectKind(err, handshake)}
}

func connectKind(err error, handshake bool) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return DNS
	case isTimeout(err):
		return ConnectTimeout
	case handshake:
		return TLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return Unreachable
	case isReset(err):
		return ResetConnect
	}
	return Connect
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// race bounds how long after it was sent a request that crossed with the close
// of an idle connection learns of it, on a network that connects in no time.
const race = 20 * time.Millisecond

// evidence is what is known of an exchange that failed.
type evidence struct {
	err      error         // from net/http
	gone     error         // how the other side ended the connection, nil if it did not
	sent     int64         // bytes of the request that were sent
	received int64         // bytes of the answer that came
	head     bool          // the head of the answer was complete
	uploaded bool          // the request was taken to its end
	kept     bool          // the connection had been opened for an earlier request
	took     time.Duration // from the start of the exchange to its failure
	connect  time.Duration // how long it took to open the connection
}

// kind names the failure.
func (e evidence) kind() string {
	switch {
	case e.head:
		return e.bodyKind()
	case e.received > 0:
		return e.headKind()
	case e.kept && (e.sent == 0 || e.took <= max(race, 10*e.connect)):
		return ResetIdle
	case e.sent == 0:
		return ResetConnect
	case !e.uploaded:
		return ResetUpload
	case e.gone != nil && isReset(e.gone):
		return Reset
	}
	return EOF
}

// headKind names a failure within the head. net/http reads on only when it needs
// more, so the end of the connection has been seen only if the head was cut off.
func (e evidence) headKind() string {
	switch {
	case strings.Contains(e.err.Error(), "response headers exceeded"): // net/http has no value for it
		return HeadTooLarge
	case errors.Is(e.err, errTooManyInterim):
		return TooManyInterim
	case e.gone == nil:
		return Malformed
	case !e.uploaded: // an early answer that the reset overtook
		return ResetUpload
	case isReset(e.gone):
		return Reset
	}
	return ShortHead
}

func (e evidence) bodyKind() string {
	switch {
	case isReset(e.err), e.gone != nil && isReset(e.gone):
		return ResetBody
	case errors.Is(e.err, io.ErrUnexpectedEOF), e.gone != nil: // within the trailer net/http has another error for it
		return ShortBody
	}
	return Malformed
}
