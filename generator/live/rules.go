package live

import (
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"

	"knee/generator/client"
	"knee/target/wire"
)

// Rules say which answers are successes and which are rejections.
//
// The first Reject rule that holds makes an answer a rejection, for the rule's
// reason. Otherwise a success is a 2xx answer, or one of the statuses of the
// status rules in Success if there are any, for which the other Success rules
// hold as well; where only those do not, it is a rejection for the reason of the
// first that does not. Of the rest, 429 and 503 are rejections, for the reason
// in the Knee-Reason header or else status_429 and status_503, and anything else
// is a failure of kind status_NNN; redirects are not followed.
//
// Where the answer has a status of gRPC, that one decides, and status rules in
// Success say nothing: OK, or one of the grpc rules in Success, may be a success;
// RESOURCE_EXHAUSTED and UNAVAILABLE are rejections, for the reason in the
// knee-reason trailer, else the message where it can be a key (see wordsOf), else
// grpc_resource_exhausted and grpc_unavailable; anything else is a failure of kind
// grpc_ and the status in lower case.
type Rules struct {
	Success []Rule
	Reject  []Rule
}

// bodyLook is how many bytes of a body are kept for body rules.
const bodyLook = 64 << 10

// look returns how many bytes of a body the rules need to see.
func (r Rules) look() int {
	for _, rules := range [][]Rule{r.Success, r.Reject} {
		for i := range rules {
			if rules[i].what == bodyPrefix || rules[i].what == bodyPart {
				return bodyLook
			}
		}
	}
	return 0
}

// judge returns what an answer is; body is its start.
func (r Rules) judge(status int, header fields, body []byte, known *interned) client.Answer {
	for i := range r.Reject {
		if rule := &r.Reject[i]; rule.holds(status, header, body) {
			return client.Answer{Result: client.Rejected, Reason: rule.why(status, header)}
		}
	}
	if code, ok := grpcStatus(header); ok {
		if !r.successful(ofGRPC, status, header, code == codes.OK) {
			return byGRPC(code, header, known)
		}
	} else if !r.successful(ofStatus, status, header, 200 <= status && status <= 299) {
		return byStatus(status, header, known)
	}
	for i := range r.Success {
		if rule := &r.Success[i]; rule.what != ofStatus && rule.what != ofGRPC && !rule.holds(status, header, body) {
			return client.Answer{Result: client.Rejected, Reason: rule.whyNot()}
		}
	}
	return client.Answer{Result: client.OK, Degraded: string(header.get(wire.Degraded)) == "1"}
}

// successful reports whether a success can have this status: what the rules of
// its kind say, or usual when there are none.
func (r Rules) successful(kind condition, status int, header fields, usual bool) bool {
	asked := false
	for i := range r.Success {
		if rule := &r.Success[i]; rule.what == kind {
			if rule.holds(status, header, nil) {
				return true
			}
			asked = true
		}
	}
	return !asked && usual
}

// byStatus judges an answer that is no success.
func byStatus(status int, header fields, known *interned) client.Answer {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return client.Answer{Result: client.Failed, Reason: statusReason(status)}
	}
	reason := statusReason(status)
	if words := header.get(wire.Reason); len(words) > 0 {
		reason = cleanReason(known.of(words))
	}
	return client.Answer{Result: client.Rejected, Reason: reason}
}

// statusReasons are the reasons of all statuses.
var statusReasons = func() (all [1000]string) {
	for status := range all {
		all[status] = "status_" + strconv.Itoa(status)
	}
	return all
}()

// statusReason returns the reason of an answer that says no more than its
// status, which is below 1000.
func statusReason(status int) string { return statusReasons[status] }
