package live

import (
	"fmt"
	"math"
	"time"

	"knee/generator/host"
)

// A Bound is how many attempts may be outstanding at once.
type Bound struct {
	N     int
	By    string // what sets it: load, descriptors or ports
	Needs int    // what the load can need
}

// String says what sets the bound.
func (b Bound) String() string {
	switch b.By {
	case Descriptors:
		return fmt.Sprintf("%d in flight, by the limit of file descriptors (ulimit -n); the load can need %d", b.N, b.Needs)
	case Ports:
		return fmt.Sprintf("%d in flight, by the local ports; the load can need %d", b.N, b.Needs)
	}
	return fmt.Sprintf("%d in flight", b.N)
}

const (
	inFlightMargin = 1.25 // for arrivals that come in bunches, and for retries
	inFlightSpare  = 64   // and for small rates
	// spareDescriptors are left for the files of the run, its logs and pipes, the
	// control connection, and connections that are being closed.
	spareDescriptors = 32
)

// AutoInFlight returns a bound for a peak rate of attempts per second, each
// listened to for timeout+grace.
//
// An open loop has rate × (timeout + grace) attempts outstanding when the server
// answers nothing at all, and never more than that by itself. So a bound a
// quarter (and 64) above it only bites when the load is not what was announced,
// and keeps memory, some 40 KB a connection, from growing with a stuck server.
// Each attempt in flight holds a connection of HTTP/1.1, that is a descriptor and
// a local port; where this machine has fewer, the bound is what it has, so that
// what exceeds it is counted as unsent at once instead of failing as it connects.
// ports is how many connections there are local ports for, 0 for no limit: see
// Routes.Ports and host.Ports.
//
// The result is at least 1.
func AutoInFlight(rate float64, timeout, grace time.Duration, ports int) Bound {
	return autoInFlight(rate, timeout+grace, host.Descriptors(), ports)
}

// autoInFlight is AutoInFlight on a machine with these limits; 0 is no limit.
func autoInFlight(rate float64, listened time.Duration, descriptors, ports int) Bound {
	needs := math.Ceil(rate*listened.Seconds()*inFlightMargin) + inFlightSpare
	b := Bound{N: int(min(needs, math.MaxInt32)), By: "load"}
	b.Needs = b.N
	if most := max(1, descriptors-spareDescriptors); descriptors > 0 && most < b.N {
		b.N, b.By = most, Descriptors
	}
	// A tenth of the ports may still be held by connections closed a moment ago.
	if most := max(1, ports-ports/10); ports > 0 && most < b.N {
		b.N, b.By = most, Ports
	}
	return b
}
