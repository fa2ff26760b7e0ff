package wire

import (
	"strconv"
	"time"
)

// grpcUnits are the units of a gRPC timeout, from the finest to the coarsest.
var grpcUnits = [...]struct {
	letter byte
	unit   time.Duration
}{
	{'n', time.Nanosecond},
	{'u', time.Microsecond},
	{'m', time.Millisecond},
	{'S', time.Second},
	{'M', time.Minute},
	{'H', time.Hour},
}

// grpcDigits is the largest number of digits in a gRPC timeout.
const grpcDigits = 8

// AppendGRPC appends d as the value of a grpc-timeout header: at most 8 digits
// in the finest unit that holds it, rounded up. A d of 0 or less becomes "0n".
func AppendGRPC(b []byte, d time.Duration) []byte {
	if d <= 0 {
		return append(b, "0n"...)
	}
	const limit = 99_999_999
	for _, u := range grpcUnits {
		n := int64(d / u.unit)
		if d%u.unit > 0 {
			n++
		}
		if n <= limit {
			return append(strconv.AppendInt(b, n, 10), u.letter)
		}
	}
	panic("wire: a Duration has fewer than 100,000,000 hours")
}

// ParseGRPC reads the value of a grpc-timeout header: 1 to 8 digits and one of
// the units H M S m u n. A value beyond the range of a Duration becomes the
// longest Duration.
func ParseGRPC(s string) (d time.Duration, ok bool) {
	n, unit, ok := digits(s)
	if !ok || len(unit) != 1 || len(s) > grpcDigits+1 {
		return 0, false
	}
	for _, u := range grpcUnits {
		if u.letter == unit[0] {
			return times(n, u.unit), true
		}
	}
	return 0, false
}

// ParseEnvoy reads the value of an x-envoy-expected-rq-timeout-ms header, whole
// milliseconds above 0: Envoy leaves the header out when there is no timeout.
func ParseEnvoy(s string) (d time.Duration, ok bool) {
	n, rest, ok := digits(s)
	if !ok || rest != "" || n == 0 {
		return 0, false
	}
	return times(n, time.Millisecond), true
}
