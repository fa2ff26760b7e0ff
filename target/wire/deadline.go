package wire

import (
	"math"
	"time"
)

// NoTimeout is the time left when no header says how much there is.
const NoTimeout = time.Duration(math.MaxInt64)

// A Timeout collects the deadline headers of one request. The smallest wins:
// each of them is a promise of somebody on the way that nobody listens any
// longer. The zero value is ready for use.
type Timeout struct {
	left time.Duration
	set  bool
}

// Left returns the time left, counted from the arrival of the request;
// NoTimeout when no header could be read.
func (t *Timeout) Left() time.Duration {
	if !t.set {
		return NoTimeout
	}
	return t.left
}

// Own takes the value of a Knee-Timeout-Ms header; false means that it cannot be
// read and is ignored.
func (t *Timeout) Own(value string) bool { return t.take(ParseMillis(value)) }

// GRPC does as Own for a grpc-timeout header.
func (t *Timeout) GRPC(value string) bool { return t.take(ParseGRPC(value)) }

// Envoy does as Own for an x-envoy-expected-rq-timeout-ms header.
func (t *Timeout) Envoy(value string) bool { return t.take(ParseEnvoy(value)) }

func (t *Timeout) take(d time.Duration, ok bool) bool {
	if ok && (!t.set || d < t.left) {
		t.left, t.set = d, true
	}
	return ok
}
