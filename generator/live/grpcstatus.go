package live

import (
	"bytes"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"knee/generator/client"
	"knee/target/wire"
)

// The fields in which a judge finds the status of gRPC and what goes with it.
const (
	grpcStatusField  = "Grpc-Status"
	grpcMessageField = "Grpc-Message"

	grpcPushbackField = "Grpc-Retry-Pushback-Ms"
)

// grpcNames are the statuses of gRPC by their codes.
var grpcNames = [...]string{
	"ok", "cancelled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists",
	"permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented",
	"internal", "unavailable", "data_loss", "unauthenticated",
}

// grpcReasons are the reasons of answers that say no more than their status.
var grpcReasons = func() (all [len(grpcNames)]string) {
	for code, name := range grpcNames {
		all[code] = "grpc_" + name
	}
	return all
}()

// grpcReason returns grpc_ and the name of a status, or its number when it has none.
func grpcReason(code codes.Code) string {
	if int(code) < len(grpcReasons) {
		return grpcReasons[code]
	}
	return "grpc_" + strconv.FormatUint(uint64(code), 10)
}

// parseGRPCStatus reads a code from 0 to 16 or its name, in either case.
func parseGRPCStatus(s string) (codes.Code, bool) {
	if n, err := strconv.ParseUint(s, 10, 8); err == nil {
		return codes.Code(n), n < uint64(len(grpcNames))
	}
	for code, name := range grpcNames {
		if strings.EqualFold(name, s) {
			return codes.Code(code), true
		}
	}
	return 0, false
}

// grpcStatus returns the status of gRPC that an answer has; false when it has
// none that can be read.
func grpcStatus(h fields) (codes.Code, bool) {
	if h == nil {
		return 0, false
	}
	value := h.get(grpcStatusField)
	if len(value) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(value), 10, 32)
	return codes.Code(n), err == nil
}

// byGRPC judges an answer whose status of gRPC makes it no success.
func byGRPC(code codes.Code, h fields, known *interned) client.Answer {
	reason := grpcReason(code)
	if code != codes.ResourceExhausted && code != codes.Unavailable {
		return client.Answer{Result: client.Failed, Reason: reason}
	}
	if words := h.get(wire.Reason); len(words) > 0 {
		reason = cleanReason(known.of(words))
	} else if words := decodeMessage(h.get(grpcMessageField)); wordsOf(words) {
		reason = cleanReason(known.of(words))
	}
	return client.Answer{Result: client.Rejected, Reason: reason}
}

// decodeMessage returns a message as it was before it was percent-encoded for the
// wire. What is no encoding stays as it is.
func decodeMessage(b []byte) []byte {
	if bytes.IndexByte(b, '%') < 0 {
		return b
	}
	plain := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] == '%' && len(b) >= 3 {
			if n, err := strconv.ParseUint(string(b[1:3]), 16, 8); err == nil {
				plain, b = append(plain, byte(n)), b[3:]
				continue
			}
		}
		plain, b = append(plain, b[0]), b[1:]
	}
	return plain
}

// longestWords is the longest message, in bytes, that is taken for a reason.
const longestWords = 40

// wordsOf reports whether a message can be the key of a counter: short, and
// without a digit, which in a sentence for people mostly stands for an identifier
// or a measurement.
func wordsOf(message []byte) bool {
	for _, b := range message {
		if '0' <= b && b <= '9' {
			return false
		}
	}
	return 0 < len(message) && len(message) <= longestWords
}
