package cases

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"knee/generator/live"
)

// An entry is one case of badserver.py, and how requests to it end over every
// engine that can speak to it.
type entry struct {
	args    string // the case, and further arguments of the server
	trip    trip
	engines func() []live.Engine // default plain
	ends    []string             // the only ways, each of which there is
	may     []string             // further ones that there may be
	deaf    bool                 // the server reads no request
	check   func(t *testing.T, o outcome, s badStats)
}

// name returns the case of an entry.
func (e entry) name() string { return strings.Fields(e.args)[0] }

// Callers that nobody answers give up soon.
const impatient = 300 * time.Millisecond

// idle is how a request ends whose connection the server closed at the moment at
// which it was sent: it can happen with any server that says nothing before it
// closes. On a machine that stands still the close is seen as late as one that the
// server made while it was at work.
var idle = []string{"failed:reset_idle", "failed:eof", "failed:reset"}

// every are all cases.
func every(t *testing.T) []entry {
	good := []string{"good"}
	return []entry{
		{args: "ok", ends: good},
		{args: "close-after-each", ends: good, check: reconnects},
		{args: "close-unannounced", trip: trip{rate: 20, length: 500 * time.Millisecond}, ends: good, may: idle},
		{args: "keepalive-timeout-race", trip: trip{rate: 19.6, length: 800 * time.Millisecond}, ends: good, may: idle},
		{args: "keepalive-max-n --n 7", ends: good},
		{args: "http10-keepalive", ends: good},
		{args: "http10-close", ends: good, check: reconnects},
		{args: "half-close", trip: trip{rate: 20, length: 500 * time.Millisecond}, ends: good, may: idle},
		{args: "no-content-length-close", ends: good, check: reconnects},

		// Whether the reset comes before the request is sent is a matter of microseconds.
		{args: "rst-after-accept", may: []string{"failed:reset", "failed:reset_connect"}, deaf: true},
		{args: "rst-after-request", ends: []string{"failed:reset"}},
		{args: "reset-mid-body", ends: []string{"failed:reset_body"}},
		{args: "blackhole-accept", trip: trip{timeout: impatient}, ends: []string{"timeout"}},
		{args: "blackhole-noread", trip: trip{rate: 20, timeout: impatient, requests: post(4 << 20)}, ends: []string{"timeout"}, deaf: true},
		{args: "slow-accept --accept-ms 50", trip: trip{rate: 20, http: live.HTTP{NoKeepAlive: true}}, ends: good},

		{args: "wrong-content-length-long", ends: []string{"failed:short_body"}},
		{args: "wrong-content-length-hang", trip: trip{timeout: impatient}, ends: []string{"timeout"}},
		{args: "cl-and-te", ends: good},
		{args: "chunked-trailers", ends: good},
		{args: "chunked-no-terminator", ends: []string{"failed:short_body"}},
		{args: "chunked-bad-size", ends: []string{"failed:malformed"}},
		{args: "204-with-body", ends: good},
		{args: "head-content-length", trip: trip{requests: head()}, ends: good},
		{args: "trickle-body --n 5 --step-ms 20", ends: good},
		{args: "trickle-headers --step-ms 20", ends: good},
		{args: "big-body --bytes 300000", ends: good},
		{args: "gzip-body", ends: good},
		{args: "gzip-lie", ends: good},
		{args: "gzip-bomb", ends: good},
		{args: "status-unknown", ends: []string{"failed:status_599"}},
		{args: "103-early-hints --slow-ms 100", ends: good},
		{args: "1xx-flood --step-ms 1", ends: []string{"failed:too_many_1xx"}},

		{args: "early-503-without-reading-body", ends: []string{"rejected:status_503"}},
		{args: "early-503-drain", trip: trip{requests: post(64 << 10)}, ends: []string{"rejected:status_503"}},
		{args: "503-retry-after-0", ends: []string{"rejected:status_503"}},
		{args: "503-retry-after-odd", ends: []string{"rejected:status_503"}},
		{args: "429-http-date-retry-after", ends: []string{"rejected:status_429"}},
		{args: "503-json-reason", ends: []string{"rejected:status_503"}},
		{args: "200-error-body", ends: good},
		{args: "fast-reject-mix", ends: []string{"good", "rejected:status_503"}},

		{args: "switching-latency --at-s 0.2 --slow-ms 100", ends: good},
		{args: "one-percent-slow", ends: good},
		{args: "periodic-stall --period-s 0.2 --stall-s 0.1", ends: good},
		{args: "warmup-slow --n 5 --slow-ms 100", ends: good},
		{args: "capacity-limited", ends: good},
		{args: "capacity-step --at-s 0.2 --slow-ms 50", ends: good},
		{args: "recover-after-stall --at-s 0.1 --stall-s 0.2", ends: good},
		{args: "metastable --limit-ms 50", ends: good},

		{args: "h2-ok", engines: over2, ends: good},
		{args: "h2-max-streams --n 5", engines: over2, ends: good},
		{args: "h2-rst-internal", engines: over2, ends: []string{"failed:h2_internal_error"}},
		{args: "h2-content-length-lie", engines: over2, ends: []string{"failed:short_body"}},
		{args: "h2-silent", engines: over2, trip: trip{timeout: impatient}, ends: []string{"timeout"}},
		{args: "grpc-ok", engines: over2, trip: trip{requests: healthCheck(t)}, ends: good},
		{args: "grpc-exhausted", engines: over2, trip: trip{requests: healthCheck(t)}, ends: []string{"rejected:shed:_queue_full"}},
		{args: "grpc-late-error", engines: over2, trip: trip{requests: healthCheck(t)}, ends: []string{"rejected:late"}},
		{args: "grpc-no-status", engines: over2, trip: trip{requests: healthCheck(t)}, ends: []string{"failed:grpc_no_status"}},
		{args: "grpc-http-503", engines: over2, trip: trip{requests: healthCheck(t)}, ends: []string{"rejected:status_503"}},
	}
}

// reconnects checks that every request had a connection of its own.
func reconnects(t *testing.T, o outcome, s badStats) {
	if s.Counters["connections"] != s.Counters["requests"] || o.stats.Reused != 0 {
		t.Errorf("%d requests on %d connections, %d times one that had carried another: want each on its own",
			s.Counters["requests"], s.Counters["connections"], o.stats.Reused)
	}
}

// TestEveryCase runs every case that badserver.py has, and compares what the
// engines make of it. With -v it prints how each ended.
func TestEveryCase(t *testing.T) {
	needPython(t)
	all := every(t)
	for _, name := range badNames(t) {
		if !slices.ContainsFunc(all, func(e entry) bool { return e.name() == name }) {
			t.Errorf("case %s of badserver.py is not run", name)
		}
	}
	var mu sync.Mutex
	said := map[string]map[live.Engine]string{} // names of the endings, by case and engine
	t.Cleanup(func() {
		for _, args := range slices.Sorted(maps.Keys(said)) {
			for _, engine := range slices.Sorted(maps.Keys(said[args])) {
				t.Logf("%-45s | %-7s | %s", args, engine, said[args][engine])
			}
		}
	})
	for _, e := range all {
		engines := e.engines
		if engines == nil {
			engines = plain
		}
		said[e.args] = map[live.Engine]string{}
		for _, engine := range engines() {
			t.Run(e.name()+"/"+string(engine), func(t *testing.T) {
				t.Parallel()
				s := startBad(t, e.args)
				o := e.trip.run(t, s.url, engine)
				o.check(t, s, e.deaf)
				o.ended(t, e.ends, e.may)
				if e.check != nil {
					e.check(t, o, s.look(t))
				}
				mu.Lock()
				defer mu.Unlock()
				said[e.args][engine] = say(o.endings())
			})
		}
	}
}
