package virtual

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/fault"
	"knee/target/protection"
	"knee/target/server"
)

// idle takes all workers away while it is injected.
type idle struct{}

func (*idle) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.Workers = 0
	return protection.Never
}

// diary is a world whose server writes down what happens to it: one worker takes
// 100 ms for each request of an even load, at 25, 75, 125 … ms.
func diary(t *testing.T, requests int) (w *world, p *plan.Plan, note func(format string, args ...any), notes *[]string) {
	notes = new([]string)
	note = func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) }
	classes := []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: time.Second, Deadline: time.Second}}
	watch := probe{
		admit: func(r *protection.Request) { note("%v arrives", r.Arrived) },
		leave: func(e protection.End) { note("served after %v", e.Waited+e.Served) },
	}
	w = newWorld(t, Options{
		Server: server.Spec{Workers: 1, Service: 100 * ms, Order: newOrder("fifo"), Chain: []server.Link{watch.link()}},
		Client: client.Options{Classes: classes},
	})
	p = newPlan(t, plan.Spec{
		Classes: classes, Work: constant(100 * ms),
		Phases: []plan.Phase{{Kind: plan.Hold, Rate: 20, For: time.Duration(requests) * 50 * ms}},
	})
	return w, p, note, notes
}

// At 125 ms the first work ends and the third request arrives. What is scheduled
// for then comes in between, in the order given; what is scheduled for an instant
// after the end does not come at all.
func TestCuesComeAtTheirInstants(t *testing.T) {
	w, p, note, notes := diary(t, 3)
	f := new(idle)
	cue := func(at time.Duration, what string, do func()) plan.Cue {
		return plan.Cue{At: at, Do: func(now time.Duration) { do(); note("%s at %v", what, now) }}
	}
	nothing := func() {}
	w.Schedule([]plan.Cue{
		cue(150*ms, "lift", func() { w.Lift(f) }), // the very end of the plan
		cue(151*ms, "never", nothing),
		cue(125*ms, "inject", func() { w.Inject(f) }),
		cue(125*ms, "look", nothing),
		cue(0, "begin", nothing),
	})
	if err := w.Run(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"begin at 0s", "25ms arrives", "75ms arrives",
		"served after 100ms", "inject at 125ms", "look at 125ms", "125ms arrives", // 75ms was taken at 125 ms, before the worker was lost
		"lift at 150ms", "served after 150ms", "served after 200ms",
	}
	if diff := cmp.Diff(want, *notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The next plan has cues of its own, relative to its own start.
func TestCuesBelongToOnePlan(t *testing.T) {
	w, p, note, notes := diary(t, 1)
	at := func(now time.Duration) { note("cue at %v", now) }
	w.Schedule([]plan.Cue{{At: 10 * ms, Do: at}, {At: time.Hour, Do: at}})
	for trial := range 2 {
		if err := w.Run(t.Context(), trial, p); err != nil {
			t.Fatal(err)
		}
	}
	w.Schedule([]plan.Cue{{At: 20 * ms, Do: at}})
	start := record.NextWindow(w.Now())
	if err := w.Run(t.Context(), 2, p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range *notes {
		if n[:3] == "cue" {
			got = append(got, n)
		}
	}
	want := []string{"cue at 10ms", fmt.Sprintf("cue at %v", start+20*ms)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoCueComesAfterTheRunWasStopped(t *testing.T) {
	w, p, note, notes := diary(t, 1)
	why := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(why)
	w.Schedule([]plan.Cue{{At: 10 * ms, Do: func(time.Duration) { note("cue") }}})
	if err := w.Run(ctx, 0, p); !errors.Is(err, why) {
		t.Errorf("run ended with %v, want its cause", err)
	}
	if len(*notes) != 0 {
		t.Errorf("notes %q, want none", *notes)
	}
}

// What happens to the server between two runs reaches callers, too.
func TestFaultsBetweenRuns(t *testing.T) {
	w, p, _, notes := diary(t, 2)
	f := new(idle)
	w.Inject(f)
	if err := w.Run(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	if total := w.series.Total(); total.Timeout != 2 {
		t.Errorf("%d timeouts, want 2: there was no worker", total.Timeout)
	}
	w.Lift(f)
	if err := w.Run(t.Context(), 1, p); err != nil {
		t.Fatal(err)
	}
	if total := w.series.Total(); total.Good == 0 {
		t.Errorf("nothing was good after the fault: %q", *notes)
	}
}
