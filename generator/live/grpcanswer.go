package live

import (
	"encoding/binary"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// Kinds of failure of unary calls, beside grpc_ and the name of a status.
const (
	NoGRPCStatus = "grpc_no_status"   // 200, but no status of gRPC that can be read
	BadMessage   = "grpc_bad_message" // the status is OK, but what came is not exactly one message
)

// messageHead is the length of what stands before a message.
const messageHead = 5

// callFault returns what is wrong with the answer to a unary call; "" when nothing
// is, or when its status says so itself. got is the length of the body that starts
// with start.
func callFault(status int, h fields, start []byte, got int64) string {
	code, ok := grpcStatus(h)
	switch {
	case !ok && status == http.StatusOK:
		return NoGRPCStatus
	case !ok || code != codes.OK:
		return ""
	case got < messageHead || start[0] != 0 || int64(binary.BigEndian.Uint32(start[1:])) != got-messageHead:
		return BadMessage // nobody has asked for compression
	}
	return ""
}

// grpcPushback reads what a server says of another attempt: how many milliseconds
// to wait before it, and not to make one when that is negative or cannot be read
// (gRFC A6).
func grpcPushback(value []byte) (wait time.Duration, never bool) {
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || n < 0 {
		return 0, true
	}
	return min(time.Duration(n)*time.Millisecond, longestRetryAfter), false
}
