package virtual

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/server"
)

// inTurn returns a next for Perform that gives plans one after another, and where
// the instants go at which it was asked.
func inTurn(plans ...*plan.Plan) (next func(time.Duration) *plan.Plan, asked *[]time.Duration) {
	asked = new([]time.Duration)
	return func(now time.Duration) *plan.Plan {
		*asked = append(*asked, now)
		if len(plans) == 0 {
			return nil
		}
		p := plans[0]
		plans = plans[1:]
		return p
	}, asked
}

func TestOnePlanFollowsAnotherWithoutAGap(t *testing.T) {
	w, p, _, notes := diary(t, 3)
	next, asked := inTurn(p, p)
	if err := w.Perform(t.Context(), 7, 20, next); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{0, 150 * ms, 300 * ms}; !slices.Equal(*asked, want) {
		t.Errorf("asked for plans at %v, want %v", *asked, want)
	}
	var arrivals []string
	for _, n := range *notes {
		if strings.HasSuffix(n, "arrives") {
			arrivals = append(arrivals, n)
		}
	}
	want := []string{"25ms arrives", "75ms arrives", "125ms arrives", "175ms arrives", "225ms arrives", "275ms arrives"}
	if diff := cmp.Diff(want, arrivals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	steps := w.series.Steps()
	if len(steps) != 2 || steps[1].Info.Start != 150*ms || steps[0].Info.Trial != 7 || steps[1].Info.Trial != 7 {
		t.Errorf("steps %+v and on, want two of trial 7, the second from 150ms", steps[0].Info)
	}
}

// A perform of no plan at all does nothing.
func TestPerformOfNothing(t *testing.T) {
	w, _, _, notes := diary(t, 1)
	next, _ := inTurn()
	if err := w.Perform(t.Context(), 0, 20, next); err != nil || len(*notes) != 0 {
		t.Errorf("it ended with %v and noted %q, want nothing", err, *notes)
	}
}

// The end of a plan that was cut is the end of its window: what was due then or
// later never comes, and the next plan begins there.
func TestCutEndsAPlan(t *testing.T) {
	classes := []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: time.Second, Deadline: time.Second}}
	hold := plan.Phase{Kind: plan.Hold, Rate: 30, For: time.Second}
	for name, c := range map[string]struct {
		phases []plan.Phase
		want   []record.StepInfo
	}{
		"the first step of two": {
			[]plan.Phase{{Kind: plan.Hold, Rate: 10, For: time.Second}, hold},
			[]record.StepInfo{{Duration: 600 * ms, From: 10, To: 10}, {Index: 1, Start: 600 * ms, Duration: time.Second, From: 30, To: 30}},
		},
		"a ramp": {
			[]plan.Phase{{Kind: plan.Ramp, From: 10, To: 30, For: time.Second}},
			[]record.StepInfo{{Duration: 600 * ms, From: 10, To: 22}, {Index: 1, Start: 600 * ms, Duration: time.Second, From: 30, To: 30}},
		},
		"a step that begins there": {
			[]plan.Phase{{Kind: plan.Hold, Rate: 10, For: 600 * ms}, hold},
			[]record.StepInfo{{Duration: 600 * ms, From: 10, To: 10}, {Index: 1, Start: 600 * ms, Duration: time.Second, From: 30, To: 30}},
		},
		"the second step": {
			[]plan.Phase{{Kind: plan.Hold, Rate: 10, For: 400 * ms}, hold},
			[]record.StepInfo{
				{Duration: 400 * ms, From: 10, To: 10},
				{Index: 1, Start: 400 * ms, Duration: 200 * ms, From: 30, To: 30},
				{Index: 2, Start: 600 * ms, Duration: time.Second, From: 30, To: 30},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w *world
			cut := func(g record.Gauge) {
				if g.At == 600*ms {
					w.Cut()
				}
			}
			w = newWorld(t, Options{
				Server:  server.Spec{Workers: 1, Service: ms, Order: newOrder("fifo")},
				Client:  client.Options{Classes: classes},
				Observe: cut,
			})
			spec := plan.Spec{Classes: classes, Work: constant(ms), Phases: c.phases}
			first := newPlan(t, spec)
			spec.Phases = []plan.Phase{hold}
			next, asked := inTurn(first, newPlan(t, spec))
			if err := w.Perform(t.Context(), 0, 30, next); err != nil {
				t.Fatal(err)
			}
			if want := []time.Duration{0, 600 * ms, 1600 * ms}; !slices.Equal(*asked, want) {
				t.Errorf("asked for plans at %v, want %v", *asked, want)
			}
			var got []record.StepInfo
			var due float64
			for _, s := range w.series.Steps() {
				i := s.Info
				i.Phase = ""
				i.To = float64(int(i.To*1e6+0.5)) / 1e6
				got = append(got, i)
				due += (i.From + i.To) / 2 * i.Duration.Seconds()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			total := w.series.Total()
			if n := float64(total.Planned); n < due-1.5 || n > due+1.5 || total.Good != total.Planned {
				t.Errorf("%v were planned and %v good, want all of %v", total.Planned, total.Good, due)
			}
		})
	}
}

// The gauges come at the end of each window while plans are under way.
func TestGaugesTellOfTheServer(t *testing.T) {
	classes := []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: 5 * time.Second, Deadline: 5 * time.Second}}
	var got []record.Gauge
	w := newWorld(t, Options{
		Server:  server.Spec{Workers: 1, Service: 100 * ms, Order: newOrder("fifo")},
		Client:  client.Options{Classes: classes},
		Observe: func(g record.Gauge) { got = append(got, g) },
	})
	p := newPlan(t, plan.Spec{
		Classes: classes, Work: constant(100 * ms),
		Phases: []plan.Phase{{Kind: plan.Hold, Rate: 20, For: 400 * ms}},
	})
	if err := w.Run(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	want := []record.Gauge{ // requests come at 25, 75 … ms, and are served one by one from 25 ms on
		{At: 200 * ms, Waiting: 2, Running: 1, Workers: 1, Oldest: 75 * ms},
		{At: 400 * ms, Waiting: 4, Running: 1, Workers: 1, Oldest: 175 * ms},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[1].Inside() != 5 {
		t.Errorf("%d inside, want 5", got[1].Inside())
	}
}

// A perform that is stopped asks for no further plan.
func TestAStoppedPerformAsksForNoFurtherPlan(t *testing.T) {
	w, p, _, _ := diary(t, 3)
	why := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(why)
	next, asked := inTurn(p, p)
	if err := w.Perform(ctx, 0, 20, next); !errors.Is(err, why) {
		t.Errorf("it ended with %v, want the cause", err)
	}
	if len(*asked) != 1 {
		t.Errorf("asked for plans at %v, want once", *asked)
	}
}
