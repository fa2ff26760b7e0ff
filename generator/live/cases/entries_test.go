package cases

import (
	"runtime"
	"testing"
	"time"

	"knee/generator/live"
)

// connections is how servers keep connections, and give them up.
//
// tgt-01: golang/go#22158, #19943: a request crosses with the close of an idle
// connection. tgt-12: wg/wrk#118, giltene/wrk2#5, valyala/fasthttp#37: answers that
// end with the connection were counted as errors. gen-12: golang/go#13801: a pool
// of two made the others connect anew. tgt-21: HigherOrderCO/Bend#977: a full queue
// of connections shows as steps of a second.
func connections() []entry {
	slowly := trip{rate: 20, length: 500 * time.Millisecond}
	race := trip{rate: 19.6, length: 800 * time.Millisecond} // a request each 51 ms
	racePost := race
	racePost.requests = post(10)
	answered := func(t *testing.T, o outcome, s badStats) {
		if o.tally.Good != s.Counters["responses"] {
			t.Errorf("good %d, and the server answered %d", o.tally.Good, s.Counters["responses"])
		}
	}
	return []entry{
		{args: "ok", trip: single(), ends: good, may: once, check: reuses},
		{report: "tgt-01", args: "keepalive-timeout-race", trip: race, ends: good, may: idle, check: answered},
		{report: "tgt-01", args: "keepalive-timeout-race", with: "post", trip: racePost, ends: good, may: idle, check: answered},
		{report: "tgt-12", args: "close-after-each", ends: good, check: reconnects},
		{report: "tgt-12", args: "close-unannounced", trip: slowly, ends: good, may: idle},
		{report: "tgt-12", args: "keepalive-max-n --n 7", trip: single(), ends: good, may: once, check: func(t *testing.T, o outcome, s badStats) {
			if want := (o.tally.Sent + 6) / 7; s.Counters["connections"] != want {
				t.Errorf("%d requests on %d connections: want %d", o.tally.Sent, s.Counters["connections"], want)
			}
		}},
		{report: "tgt-12", args: "http10-keepalive", trip: single(), ends: good, may: once, check: reuses},
		{report: "tgt-12", args: "http10-close", ends: good, check: reconnects},
		{report: "tgt-12", args: "no-content-length-close", ends: good, check: both(reconnects, received(200, 200))},
		{report: "tgt-12", args: "half-close", trip: slowly, ends: good, may: idle},
		{report: "gen-12", args: "ok --fast-ms 50", trip: trip{rate: 200, length: time.Second, most: 20}, ends: good, may: once, check: func(t *testing.T, o outcome, s badStats) {
			if n := s.Counters["connections"]; n > 25 { // net/http may give one up that it has not seen to be free
				t.Errorf("%d connections for up to 20 requests at once", n)
			}
		}},
		{
			report: "tgt-21", args: "slow-accept --accept-ms 100", trip: trip{rate: 20, length: 600 * time.Millisecond, http: live.HTTP{NoKeepAlive: true}},
			ends: good, check: both(reconnects, func(t *testing.T, o outcome, _ badStats) {
				// The last of the 12 is accepted 1.2 s after the first, and was due after 550 ms.
				if o.step.Response.Max < 600*time.Millisecond {
					t.Errorf("the slowest answer took %v: the wait to be accepted is missing", o.step.Response.Max)
				}
				if runtime.GOOS == "linux" && o.stats.ConnectMost < 500*time.Millisecond { // a further try comes after a second
					t.Errorf("connecting took %v at most: want the wait in there", o.stats.ConnectMost)
				}
			}),
		},
	}
}

// broken is how connections break. tgt-22: wg/wrk#378, hatoo/oha#4: all kinds were
// one number. gen-11: tsenart/vegeta#555, #404, bojand/ghz#185: what a timeout is,
// and what it adds to the latencies.
func broken() []entry {
	noTime := func(t *testing.T, o outcome, _ badStats) {
		if o.step.Response.Count != 0 || o.step.Late.Count != 0 || o.step.Reject.Count != 0 {
			t.Errorf("%+v: want no latency of what nobody answered", o.step)
		}
	}
	return []entry{
		// Whether the reset comes before the request is sent is a matter of microseconds.
		// One that the kernel of the server has taken and its program never saw looks from
		// here like one that it read.
		{report: "tgt-22", args: "rst-after-accept", may: []string{"failed:reset", "failed:reset_connect"}, deaf: true},
		{report: "tgt-22", args: "rst-after-request", ends: []string{"failed:reset"}},
		{report: "tgt-22", args: "reset-mid-body", ends: []string{"failed:reset_body"}, check: received(0, 500)},
		{report: "gen-11", args: "blackhole-accept", trip: trip{timeout: impatient}, ends: []string{"timeout"}, check: noTime},
		{report: "gen-11", args: "blackhole-noread", trip: trip{rate: 20, timeout: impatient, requests: post(4 << 20)}, ends: []string{"timeout"}, deaf: true, check: noTime},
		{report: "gen-11", args: "blackhole-noread", with: "and listen on", trip: trip{rate: 20, timeout: impatient, grace: impatient, listen: true, requests: post(4 << 20)}, ends: []string{"timeout"}, deaf: true, check: noTime},
	}
}

// framing is where an answer ends. tgt-09: golang/go#46071, #32728,
// tsenart/vegeta#166: bodies that are shorter than declared were successes.
// tgt-11: tsenart/vegeta#624, valyala/fasthttp#1078, golang/go#27197: extensions and
// trailers of the chunked coding. tgt-13: processone/tsung#334, vlang/v#26999: an
// answer to HEAD has a length and no body.
func framing() []entry {
	heads := single()
	heads.requests = head()
	return []entry{
		{report: "tgt-09", args: "wrong-content-length-long", ends: []string{"failed:short_body"}, check: received(50, 50)},
		{report: "tgt-09", args: "chunked-no-terminator", ends: []string{"failed:short_body"}, check: received(5, 5)},
		{report: "tgt-09", args: "wrong-content-length-hang", trip: trip{timeout: impatient}, ends: []string{"timeout"}, check: received(0, 50)},
		{report: "tgt-11", args: "chunked-trailers", trip: single(), ends: good, may: once, check: both(reuses, received(11, 11))},
		{report: "tgt-11", args: "chunked-bad-size", ends: []string{"failed:malformed"}},
		// RFC 9112, section 6.3: the coding overrides the length.
		{report: "tgt-11", args: "cl-and-te", ends: good, check: received(3, 3)},
		{report: "tgt-13", args: "head-content-length", trip: heads, ends: good, may: once, check: both(reuses, received(0, 0))},
		{args: "head-content-length", with: "get", trip: trip{rate: 20}, ends: good, check: received(1000000, 1000000)},
		// The bytes that follow are none of the answer. While net/http has not looked at them
		// it may send another request.
		{report: "tgt-26", args: "204-with-body", ends: good, may: []string{"failed:reset_idle"}, check: received(0, 0)},
	}
}

// bodies is what they hold, and how they come. tgt-16: grafana/k6#1030, #3373:
// compression that nobody asked for. tgt-23: tsenart/vegeta#339, #341, #471: the
// latency ended with the first bytes.
func bodies() []entry {
	return []entry{
		{report: "tgt-16", args: "gzip-body", ends: good, check: both(received(100000, 100000), func(t *testing.T, _ outcome, s badStats) {
			if n := s.Counters["gzip_sent"]; n != 0 {
				t.Errorf("%d requests asked for compression by themselves", n)
			}
		})},
		{report: "tgt-16", args: "gzip-body", with: "asked for", trip: trip{requests: get("Accept-Encoding: gzip")}, ends: good, check: received(1, 2000)},
		{report: "tgt-16", args: "gzip-lie", trip: trip{requests: get("Accept-Encoding: gzip")}, ends: good, check: received(17, 17)},
		{report: "tgt-16", args: "gzip-bomb", trip: trip{requests: get("Accept-Encoding: gzip")}, ends: good, check: received(60000, 100000)},
		{report: "tgt-23", args: "trickle-body --n 10 --step-ms 20", ends: good, check: fastest(200 * time.Millisecond)},
		{report: "tgt-23", args: "trickle-body --n 1000 --step-ms 20", trip: trip{timeout: impatient}, ends: []string{"timeout"}},
		{report: "tgt-23", args: "trickle-headers --step-ms 50", ends: good, check: fastest(200 * time.Millisecond)},
		{report: "tgt-23", args: "trickle-headers --step-ms 500", trip: trip{timeout: impatient}, ends: []string{"timeout"}},
		{args: "big-body --bytes 300000", trip: single(), ends: good, may: once, check: both(reuses, received(300000, 300000))},
	}
}

// interim is what is no answer yet. tgt-07: golang/go#17739, #65035,
// snoyberg/http-client#521.
func interim() []entry {
	return []entry{
		{report: "tgt-07", args: "103-early-hints --slow-ms 100", ends: good, check: fastest(100 * time.Millisecond)},
		{report: "tgt-07", args: "1xx-flood --step-ms 1", ends: []string{"failed:too_many_1xx"}},
	}
}

// rejections is how servers say no. tgt-05: golang/go#11745, #51109, #81217: an
// answer while the body is being sent was lost. tgt-26: hatoo/oha#645,
// PragmaticFlow/NBomber#262: what a success is. prot-01: hatoo/oha#212,
// envoyproxy/nighthawk#379: fast rejections made the service look fast. prot-02:
// NousResearch/hermes-agent#84738: what Retry-After can say.
func rejections(t *testing.T) []entry {
	busy := []string{"rejected:status_503"}
	large := func(n int) trip { return trip{rate: 20, length: 500 * time.Millisecond, requests: post(n)} }
	heard := func(t *testing.T, o outcome, s badStats) {
		if got := o.tally.Rejected + o.tally.Failed; got != s.Sent["503"] {
			t.Errorf("%d were rejected or reset, and the server said no %d times", got, s.Sent["503"])
		}
	}
	odd := func(some bool) func(*testing.T, outcome, badStats) {
		return func(t *testing.T, o outcome, _ badStats) {
			if (o.stats.OddRetry > 0) != some {
				t.Errorf("%d times Retry-After could not be read: want some: %v", o.stats.OddRetry, some)
			}
		}
	}
	return []entry{
		{report: "tgt-05", args: "early-503-without-reading-body", with: "get", ends: busy, check: heard},
		{report: "tgt-05", args: "early-503-without-reading-body", with: "64 kB", trip: large(64 << 10), may: append(cutOff, busy...), check: heard},
		{report: "tgt-05", args: "early-503-without-reading-body", with: "5 MB", trip: large(5 << 20), may: append(cutOff, busy...), check: heard},
		{report: "tgt-05", args: "early-503-drain", with: "64 kB", trip: large(64 << 10), ends: busy},
		{report: "tgt-05", args: "early-503-drain", with: "5 MB", trip: large(5 << 20), ends: busy},
		{report: "tgt-26", args: "status-unknown", ends: []string{"failed:status_599"}},
		{report: "tgt-26", args: "200-error-body", ends: good},
		{report: "tgt-26", args: "200-error-body", with: "and a rule", trip: trip{rules: rules(t, []string{`body~="ok":true`}, nil)}, ends: []string{"rejected:body_rule"}},
		{report: "prot-01", args: "fast-reject-mix --fraction 0.7 --slow-ms 100", trip: trip{
			length: 500 * time.Millisecond, rules: rules(t, nil, []string{"header:X-Reject-Reason=shed -> shed"}),
		}, ends: []string{"good", "rejected:shed"}, check: both(fastest(100*time.Millisecond), func(t *testing.T, o outcome, _ badStats) {
			if o.tally.Sent == 20 && (o.tally.Good != 6 || o.step.Reject.Count != 14) {
				t.Errorf("good %d, %d rejections with a time of their own: want 6 and 14", o.tally.Good, o.step.Reject.Count)
			}
		})},
		{report: "prot-02", args: "503-retry-after-0", ends: busy, check: odd(false)},
		{report: "prot-02", args: "503-retry-after-odd", ends: busy, check: odd(true)},
		{report: "prot-02", args: "429-http-date-retry-after", ends: []string{"rejected:status_429"}, check: odd(false)},
		{args: "503-json-reason", ends: busy},
		{args: "503-json-reason", with: "and a rule", trip: trip{rules: rules(t, nil, []string{
			"header:X-Reject-Reason=deadline -> deadline", `body~="reason": "queue_full" -> queue`, "header:X-Reject-Reason -> other",
		})}, ends: []string{"rejected:deadline", "rejected:queue", "rejected:other"}},
	}
}

// timing is when servers answer.
func timing() []entry {
	return []entry{
		{args: "switching-latency --at-s 0.2 --slow-ms 100", ends: good},
		{args: "one-percent-slow", trip: trip{rate: 200, length: time.Second}, ends: good},
		{args: "periodic-stall --period-s 0.2 --stall-s 0.1", ends: good},
		{args: "warmup-slow --n 5 --slow-ms 100", ends: good},
		{args: "capacity-limited", ends: good, check: fastest(20 * time.Millisecond)},
		{args: "capacity-step --at-s 0.2 --slow-ms 50", ends: good, check: fastest(20 * time.Millisecond)},
		{args: "recover-after-stall --at-s 0.1 --stall-s 0.2", ends: good, check: fastest(20 * time.Millisecond)},
		{args: "metastable --limit-ms 50", ends: good, check: fastest(20 * time.Millisecond)},
	}
}

// h2 is HTTP/2 in the clear. tgt-03: golang/go#13774, #27044, grpc/grpc-go#2412,
// fortio/fortio#223: requests that wait for a stream do so in silence, or break the
// limit. tgt-09 as above.
func h2() []entry {
	limited := func(most int) trip {
		return trip{rate: 200, length: 500 * time.Millisecond, http: live.HTTP{MaxConns: most}}
	}
	refused := []string{"failed:h2_refused_stream"}
	named := func(conns uint64) func(*testing.T, outcome, badStats) {
		return func(t *testing.T, o outcome, s badStats) {
			streams := o.stats.Streams
			// The server counts a stream until a moment after it has told us that it is over.
			if over := s.Counters["h2_over_limit"]; over != o.tally.FailedBy["h2_refused_stream"] || over > o.tally.Sent/4 || s.Counters["connections"] > conns {
				t.Errorf("%v: want up to 5 streams on each of %d connections", s.Counters, conns)
			}
			if streams.Waits > 0 && streams.Limit != 5 || streams.Waits == 0 && conns == 1 {
				t.Errorf("%+v: want the limit of 5 named where requests waited for it", streams)
			}
		}
	}
	return []entry{
		{args: "h2-ok", engines: over2, trip: single(), ends: good, may: once, check: reuses},
		{report: "tgt-03", args: "h2-max-streams --n 5 --slow-ms 50", with: "1 connection", engines: over2, trip: limited(1), ends: good, may: refused, check: named(1)},
		{report: "tgt-03", args: "h2-max-streams --n 5 --slow-ms 50", with: "3 connections", engines: over2, trip: limited(3), ends: good, may: refused, check: named(3)},
		{report: "tgt-09", args: "h2-rst-internal", engines: over2, ends: []string{"failed:h2_internal_error"}, check: received(4, 4)},
		{report: "tgt-09", args: "h2-content-length-lie", engines: over2, ends: []string{"failed:short_body"}, check: received(3, 3)},
		{args: "h2-silent", engines: over2, trip: trip{timeout: impatient}, ends: []string{"timeout"}},
	}
}

// grpc is what the status of a call is. tgt-27: grpc/grpc-go#8546, #8702,
// linkerd/linkerd2#3493, bojand/ghz#162, #185.
func grpc(t *testing.T) []entry {
	call := trip{rate: 50, requests: healthCheck(t)}
	return []entry{
		{report: "tgt-27", args: "grpc-ok", engines: over2, trip: call, ends: good},
		{report: "tgt-27", args: "grpc-exhausted", engines: over2, trip: call, ends: []string{"rejected:shed:_queue_full"}},
		// Its message is all that it says of why it is unavailable.
		{report: "tgt-27", args: "grpc-late-error", engines: over2, trip: call, ends: []string{"rejected:late"}},
		{report: "tgt-27", args: "grpc-no-status", engines: over2, trip: call, ends: []string{"failed:grpc_no_status"}},
		{report: "tgt-27", args: "grpc-http-503", engines: over2, trip: call, ends: []string{"rejected:status_503"}},
	}
}
