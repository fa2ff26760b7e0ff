// Package wire names what a caller and the reference server tell each other in
// HTTP headers, and reads and writes the values.
//
// A value that cannot be read is treated as absent. The functions say so with a
// false ok, and the shell that called them counts it.
package wire

// Headers of a request, in the canonical form of net/http.
const (
	Class       = "Knee-Class"       // name of the class in the profile
	Client      = "Knee-Client"      // number of the caller, 0 to 4294967295
	WorkNs      = "Knee-Work-Ns"     // service time that the request needs on an idle, healthy worker, whole nanoseconds
	TimeoutMs   = "Knee-Timeout-Ms"  // what is left for the attempt when it is sent; see AppendMillis
	Tenant      = "Knee-Tenant"      // whose quota it uses
	Criticality = "Knee-Criticality" // one of the names in CriticalityName
	Cost        = "Knee-Cost"        // relative cost, a decimal number above 0
	Attempt     = "Knee-Attempt"     // 1 for the first attempt of an original, 2 for its first repetition …
	Protected   = "Knee-Protected"   // "1" for a health check, or the end of work already begun
	Signature   = "Knee-Signature"   // HMAC-SHA256 of the body, in hexadecimal

	GRPCTimeout  = "Grpc-Timeout"                   // what gRPC callers send; see AppendGRPC
	EnvoyTimeout = "X-Envoy-Expected-Rq-Timeout-Ms" // what Envoy sends upstream, whole milliseconds
)

// Headers of an answer. A refusal is status 503, work that failed 500.
const (
	Reason       = "Knee-Reason"         // why it was refused, or failed
	Degraded     = "Knee-Degraded"       // "1" when the answer is the cheaper one
	RetryAfter   = "Retry-After"         // RFC 9110, section 10.2.3: whole seconds, rounded up
	RetryAfterMs = "Knee-Retry-After-Ms" // what a protection asked for, exactly, 0 when none did; see AppendMillis
	Retry        = "Knee-Retry"          // "no" when the caller should not try again
	Credits      = "Knee-Credits"        // attempts that the caller may have open from now on, a whole number
)
