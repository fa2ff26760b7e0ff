package cases

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"knee/generator/client"
	"knee/generator/live"
)

// An entry is one way to run a case of badserver.py, and how the requests end over
// every engine that can speak to it.
type entry struct {
	args    string // the case, and further arguments of the server
	report  string // what it stands for: see the comment of the group
	with    string // what is different from other entries of the case
	trip    trip
	engines func() []live.Engine // default plain
	ends    []string             // the only ways, each of which there is
	may     []string             // further ones that there may be
	deaf    bool                 // the server reads no request
	check   func(t *testing.T, o outcome, s badStats)
}

// name returns the case of an entry.
func (e entry) name() string { return strings.Fields(e.args)[0] }

// title tells the entry from all others.
func (e entry) title() string { return strings.TrimSpace(e.report + " " + e.args + " " + e.with) }

// Callers that nobody answers give up soon.
const impatient = 500 * time.Millisecond

// idle is how a request ends whose connection the server closed at the moment at
// which it was sent: it can happen with any server that says nothing before it
// closes. On a machine that stands still the close is seen as late as one that the
// server made while it was at work.
var idle = []string{"failed:reset_idle", "failed:reset_connect", "failed:eof", "failed:reset"}

// cutOff is how a request can end whose server answers 503 and closes while the
// body is on its way: what came first, the answer or the reset that overtakes it,
// is not ours to say.
var cutOff = []string{"failed:reset_upload", "failed:reset"}

var good = []string{"good"}

// every returns all entries.
func every(t *testing.T) []entry {
	return slices.Concat(connections(), broken(), framing(), bodies(), interim(), rejections(t), timing(), h2(), grpc(t))
}

// TestEveryCase runs every case that badserver.py has. With -v it prints how each
// ended over each engine.
func TestEveryCase(t *testing.T) {
	t.Parallel()
	needPython(t)
	all := every(t)
	for _, name := range badNames(t) {
		if !slices.ContainsFunc(all, func(e entry) bool { return e.name() == name }) {
			t.Errorf("case %s of badserver.py is not run", name)
		}
	}
	var mu sync.Mutex
	said := map[string]map[live.Engine]string{} // how they ended, by entry and engine
	t.Cleanup(func() {
		for _, title := range slices.Sorted(maps.Keys(said)) {
			for _, engine := range slices.Sorted(maps.Keys(said[title])) {
				t.Logf("%-52s | %-7s | %s", title, engine, said[title][engine])
			}
		}
	})
	for _, e := range all {
		engines := e.engines
		if engines == nil {
			engines = plain
		}
		said[e.title()] = map[live.Engine]string{}
		for _, engine := range engines() {
			t.Run(e.title()+"/"+string(engine), func(t *testing.T) {
				t.Parallel()
				s := startBad(t, e.args)
				o := e.trip.run(t, s.url, engine)
				o.check(t, s, e.deaf, e.may...)
				o.ended(t, e.ends, e.may)
				if e.check != nil {
					e.check(t, o, s.look(t))
				}
				mu.Lock()
				defer mu.Unlock()
				said[e.title()][engine] = say(o.endings())
			})
		}
	}
}

// reconnects checks that every request had a connection of its own.
func reconnects(t *testing.T, o outcome, s badStats) {
	if s.Counters["connections"] != s.Counters["requests"] || o.stats.Reused != 0 {
		t.Errorf("%d requests on %d connections, %d times one that had carried another: want each on its own",
			s.Counters["requests"], s.Counters["connections"], o.stats.Reused)
	}
}

// once is how arrivals can end that come while as many are in flight as there may be.
var once = []string{"unsent:" + client.ReasonInFlight}

// single is a trip with one request in flight at most.
func single() trip { return trip{most: 1} }

// reuses checks that the requests of a single trip took the same connection.
func reuses(t *testing.T, o outcome, _ badStats) {
	if o.stats.Opened != 1 || o.stats.Reused != o.tally.Sent-1 {
		t.Errorf("%d requests on %d connections, %d of them on one that had carried another", o.tally.Sent, o.stats.Opened, o.stats.Reused)
	}
}

// fastest checks the fastest success, which no noise makes faster.
func fastest(least time.Duration) func(*testing.T, outcome, badStats) {
	return func(t *testing.T, o outcome, _ badStats) {
		if got := o.fastest(); got < least {
			t.Errorf("the fastest success took %v: the server takes %v", got, least)
		}
	}
}

// received checks how many bytes of bodies came for each request that was sent,
// whatever became of it and whatever had been declared.
func received(least, most uint64) func(*testing.T, outcome, badStats) {
	return func(t *testing.T, o outcome, _ badStats) {
		n := o.tally.Attempts
		if got := o.stats.BodyBytes; got < least*n || got > most*n {
			t.Errorf("%d bytes of bodies for %d requests: want %d to %d for each", got, n, least, most)
		}
	}
}

// both checks two things.
func both(a, b func(*testing.T, outcome, badStats)) func(*testing.T, outcome, badStats) {
	return func(t *testing.T, o outcome, s badStats) {
		a(t, o, s)
		b(t, o, s)
	}
}
