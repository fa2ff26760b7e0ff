package cases

import (
	"slices"
	"strings"
	"testing"
	"time"

	"knee/generator/client"
)

// seen is what a server has counted by itself.
type seen struct{ requests, connections, answers uint64 }

// A server counts what arrives.
type server interface {
	address() string // its URL
	seen(t *testing.T) seen
}

// unread are failures of requests that the server may not have read: it had hung
// up, or there was no connection. Of all others it has to know.
var unread = []string{"failed:reset_idle", "failed:reset_connect", "failed:connect_timeout", "failed:refused"}

// patience is how long a server has to count what was sent before its caller left.
const patience = 10 * time.Second

// overdue is how much longer than it was to take a run may take on a machine that
// others use as well.
const overdue = 10 * time.Second

// check checks what has to hold in every case, and returns what the server counted.
// deaf says that the server reads no request, and more which endings, beside those
// of unread, there may be of requests that it has not read.
func (o outcome) check(t *testing.T, s server, deaf bool, more ...string) seen {
	t.Helper()
	if err := o.tally.Conserved(); err != nil {
		t.Errorf("not conserved: %v", err)
	}
	if o.tally.Planned != o.planned || o.tally.Unfinished != 0 {
		t.Errorf("of %d arrivals %d were counted, and %d are unfinished", o.planned, o.tally.Planned, o.tally.Unfinished)
	}
	if o.tally.Attempts != o.tally.Sent {
		t.Errorf("%d attempts for %d requests: nothing is to be sent again", o.tally.Attempts, o.tally.Sent)
	}
	if o.took > o.within+overdue {
		t.Errorf("took %v: want %v", o.took, o.within)
	}
	if o.stats.Open != 0 {
		t.Errorf("%d connections are open", o.stats.Open)
	}
	if left := connectionsTo(s.address()); left != 0 {
		t.Errorf("the process holds %d connections to the server", left)
	}
	if n := o.step.Response.Count; n != int64(o.tally.Good) {
		t.Errorf("%d latencies of successes, and %d successes", n, o.tally.Good)
	}
	if n := o.step.Late.Count; n != int64(o.tally.Late) {
		t.Errorf("%d latencies of late successes, and %d of these", n, o.tally.Late)
	}
	if n := o.step.Lag.Count; n != int64(o.tally.Attempts) {
		t.Errorf("%d lags of %d attempts", n, o.tally.Attempts)
	}
	return o.compare(t, s, deaf, more)
}

// disturbed reports whether the machine stood still for long enough that a request
// may have timed out before it was sent.
func (o outcome) disturbed() bool {
	return max(o.step.Lag.Max, o.stats.ConnectMost) > o.timeout/4
}

// compare checks our counts against the server's.
func (o outcome) compare(t *testing.T, s server, deaf bool, more []string) (got seen) {
	t.Helper()
	most := o.tally.Attempts
	least := most
	if o.disturbed() { // then callers gave up that had no connection yet
		least -= o.tally.Timeout
	}
	successes := o.tally.Good + o.tally.Late
	endings := o.endings()
	for kind, n := range endings {
		if slices.Contains(unread, kind) || slices.Contains(more, kind) && strings.HasPrefix(kind, "failed:") {
			least -= n
		}
	}
	if deaf {
		most, least = 0, 0
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got = s.seen(t)
		if got.requests >= least && got.connections >= o.stats.Opened && got.answers >= successes || time.Now().After(end) {
			break
		}
	}
	if got.requests < least || got.requests > most {
		t.Errorf("the server saw %d requests, %d to %d were sent (%s)", got.requests, least, most, say(endings))
	}
	if got.connections < o.stats.Opened {
		t.Errorf("%d connections were opened, and %d to the server: some went elsewhere", o.stats.Opened, got.connections)
	}
	if got.connections > o.tally.Attempts {
		t.Errorf("the server saw %d connections for %d attempts", got.connections, o.tally.Attempts)
	}
	if successes > got.answers {
		t.Errorf("%d answers are good, and the server has written %d", successes, got.answers)
	}
	return got
}

// ended checks that the arrivals ended in these ways, each of them, and in no
// other but those of may.
func (o outcome) ended(t *testing.T, ends, may []string) {
	t.Helper()
	endings := o.endings()
	for _, name := range ends {
		if endings[name] == 0 {
			t.Errorf("nothing ended as %s: %s", name, say(endings))
		}
	}
	strange := false
	for name, n := range endings {
		// A machine that stands still for longer than the timeout sends late or not at all.
		if name == "unsent:"+client.ReasonOutOfTime && n < o.planned {
			continue
		}
		strange = strange || !slices.Contains(ends, name) && !slices.Contains(may, name)
	}
	if strange {
		t.Errorf("ended as %s: want %v", say(endings), ends)
	}
}
