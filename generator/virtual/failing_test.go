package virtual

import (
	"maps"
	"testing"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/target/fault"
	"knee/target/protection"
	"knee/target/server"
)

// broken has all work fail.
type broken struct{}

func (*broken) Bend(time.Duration, *fault.Conditions) time.Duration { return protection.Never }

func (*broken) Treat(_ time.Duration, _ *protection.Request, t *fault.Treatment) { t.Fail = "broken" }

// gone is a server that is down.
type gone struct{}

func (*gone) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.Down = true
	return protection.Never
}

// Callers cannot know why a server fails: they see what a live one would show them.
func TestHowCallersSeeFailures(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault fault.Fault
		kind  string
		sent  uint64 // as the server counts it
	}{
		{"its work fails", new(broken), "status_500", 10},
		{"nobody is there", new(gone), "eof", 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			classes := []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: time.Second, Deadline: time.Second}}
			w := newWorld(t, Options{
				Server: server.Spec{Workers: 1, Service: 10 * ms, Order: newOrder("fifo")},
				Client: client.Options{Classes: classes},
			})
			w.Inject(tt.fault)
			p := newPlan(t, plan.Spec{Classes: classes, Work: constant(10 * ms), Phases: []plan.Phase{{Kind: plan.Hold, Rate: 10, For: time.Second}}})
			if err := w.Run(t.Context(), 0, p); err != nil {
				t.Fatal(err)
			}
			total := w.series.Total()
			if total.Failed != 10 || !maps.Equal(total.FailedBy, map[string]uint64{tt.kind: 10}) {
				t.Errorf("failed %d, by %v: want 10 of %s", total.Failed, total.FailedBy, tt.kind)
			}
			if n := w.Counts(); n.Arrived != tt.sent || n.Failed != 10 {
				t.Errorf("the server counts %d arrivals and %d failures, want %d and 10", n.Arrived, n.Failed, tt.sent)
			}
		})
	}
}
