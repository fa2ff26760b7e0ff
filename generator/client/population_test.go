package client

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/generator/plan"
	"knee/generator/record"
)

// How one original ends, by options, answer and instant. Instants count from
// the arrival; the timeout is 100 ms and the grace 200 ms.
func TestEndings(t *testing.T) {
	class := func(timeout, deadline time.Duration) []plan.Class {
		return []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: timeout, Deadline: deadline}}
	}
	hangUp := Options{Close: true}
	rejected := Answer{Result: Rejected, Reason: "queue_full"}
	failed := Answer{Result: Failed, Reason: "reset"}
	degraded := Answer{Degraded: true}
	const none = -1

	for _, c := range []struct {
		name    string
		options Options
		at      time.Duration // of the answer; none: no answer comes
		answer  Answer
		want    record.Ending
	}{
		{"at once", Options{}, 0, Answer{}, record.Ending{Kind: record.Good}},
		{"at the timeout", Options{}, 100 * ms, Answer{}, record.Ending{Kind: record.Good, Done: 100 * ms}},
		{"after the timeout", Options{}, 100*ms + 1, Answer{}, record.Ending{Kind: record.Late, Done: 100*ms + 1}},
		{"at the deadline", Options{Classes: class(100*ms, 80*ms)}, 80 * ms, Answer{}, record.Ending{Kind: record.Good, Done: 80 * ms}},
		{"after the deadline", Options{Classes: class(100*ms, 80*ms)}, 80*ms + 1, Answer{}, record.Ending{Kind: record.Late, Done: 80*ms + 1}},
		{"after the timeout, before the deadline", Options{Classes: class(100*ms, 150*ms)}, 100*ms + 1, Answer{}, record.Ending{Kind: record.Late, Done: 100*ms + 1}},
		{"at the end of the grace", Options{}, 300 * ms, Answer{}, record.Ending{Kind: record.Late, Done: 300 * ms}},
		{"after the grace", Options{}, 300*ms + 1, Answer{}, record.Ending{Kind: record.Timeout, Done: 300 * ms}},
		{"refused after the grace", Options{}, 300*ms + 1, rejected, record.Ending{Kind: record.Timeout, Done: 300 * ms}},
		{"never", Options{}, none, Answer{}, record.Ending{Kind: record.Timeout, Done: 300 * ms}},
		{"hang up: at the timeout", hangUp, 100 * ms, Answer{}, record.Ending{Kind: record.Good, Done: 100 * ms}},
		{"hang up: after the timeout", hangUp, 100*ms + 1, Answer{}, record.Ending{Kind: record.Timeout, Done: 100 * ms}},
		{"hang up: never", hangUp, none, Answer{}, record.Ending{Kind: record.Timeout, Done: 100 * ms}},
		{"hang up: after the deadline", Options{Close: true, Classes: class(100*ms, 80*ms)}, 90 * ms, Answer{}, record.Ending{Kind: record.Late, Done: 90 * ms}},
		{"rejected", Options{}, 20 * ms, rejected, record.Ending{Kind: record.Rejected, Reason: "queue_full", Done: 20 * ms}},
		{"rejected after the timeout", Options{}, 250 * ms, rejected, record.Ending{Kind: record.Rejected, Reason: "queue_full", Done: 250 * ms}},
		{"failed", Options{}, 20 * ms, failed, record.Ending{Kind: record.Failed, Reason: "reset", Done: 20 * ms}},
		{"degraded", Options{}, 20 * ms, degraded, record.Ending{Kind: record.Good, Degraded: true, Done: 20 * ms}},
		{"degraded and late", Options{}, 120 * ms, degraded, record.Ending{Kind: record.Late, Done: 120 * ms}},
		{"not sent", Options{}, 0, Answer{Result: NotSent, Reason: "no_ports"}, record.Ending{Kind: record.Unsent, Reason: "no_ports"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Grace = 200 * ms
			h := newHarness(t, c.options)
			a, at := h.one()
			last := at + c.at
			if c.at == none {
				last = at + c.want.Done
				h.cancelled(h.Advance(last-1), 0)
				if got := h.cancelled(h.Advance(last), 1)[0]; got != a {
					t.Fatalf("cancelled %v, want %v", got, a)
				}
			} else {
				h.Answer(last, a, c.answer)
			}
			c.want.Planned, c.want.Sent, c.want.Done = at, at, at+c.want.Done
			if diff := cmp.Diff(c.want, h.caller.ending); diff != "" {
				t.Errorf("ending (-want +got):\n%s", diff)
			}
			h.idle()
			total := h.total(last)
			sent := uint64(1)
			if c.answer.Result == NotSent {
				sent = 0
			}
			if total.Planned != 1 || total.Sent != sent || total.Attempts != sent {
				t.Errorf("planned %d, sent %d, attempts %d: want 1, %d, %d", total.Planned, total.Sent, total.Attempts, sent, sent)
			}
		})
	}
}

// Three arrivals, 100 ms apart, and room for one: each finds the one before in
// flight, or gone, at its own instant.
func TestMaxInFlight(t *testing.T) {
	h := newHarness(t, Options{MaxInFlight: 1, Grace: 200 * ms})
	due := h.offer(0, 10, 300*ms)
	first := h.sent(h.Advance(due[0]), 1)[0]
	h.sent(h.Advance(due[1]), 0)
	if want := (record.Ending{Kind: record.Unsent, Reason: ReasonInFlight, Planned: due[1], Done: due[1]}); h.caller.ending != want {
		t.Errorf("ending %+v, want %+v", h.caller.ending, want)
	}
	h.Answer(due[2], first, Answer{}) // the answer makes room before the arrival of that instant
	third := h.sent(h.Advance(due[2]), 1)[0]
	h.Answer(due[2]+ms, third, Answer{})
	total := h.total(due[2] + ms)
	want := record.Counts{Planned: 3, Sent: 2, Attempts: 2, Good: 1, Late: 1, Unsent: 1}
	if total.Counts != want {
		t.Errorf("counts %+v, want %+v", total.Counts, want)
	}
}

// At one instant a wait ends before the next arrival looks for room.
func TestWaitEndsBeforeArrival(t *testing.T) {
	h := newHarness(t, Options{MaxInFlight: 1, Close: true})
	due := h.offer(0, 10, 200*ms)
	first := h.sent(h.Advance(due[0]), 1)[0]
	effects := h.Advance(due[1])
	if due[1]-due[0] != 100*ms || len(effects) != 2 || effects[0] != (Effect{Cancel, first}) || effects[1].Kind != Send {
		t.Fatalf("effects at %v after %v: %v, want cancel, send", due[1], due[0], effects)
	}
	if effects[1].Attempt == first {
		t.Error("the cancelled attempt was reused while its shell still had to let go of it")
	}
}

// A shell that comes late finds everything in the order of its instants, sent
// at the instant at which it came.
func TestLateShell(t *testing.T) {
	h := newHarness(t, Options{Grace: 200 * ms})
	due := h.offer(0, 10, 500*ms) // 50, 150, 250, 350, 450
	h.sent(h.Advance(due[0]), 1)
	now := 520 * ms

	effects := h.Advance(now)
	h.cancelled(effects, 1)
	sent := h.sent(effects, 3) // 250, 350, 450; the wait for 50 was over at 350, that for 150 at 450
	for i, a := range sent {
		if a.Planned != due[i+2] || a.Sent != now || a.Timeout != due[i+2]+100*ms {
			t.Errorf("planned %v, sent %v, timeout %v: want %v, %v, 100ms after", a.Planned, a.Sent, a.Timeout, due[i+2], now)
		}
	}
	if effects[1].Kind != Cancel {
		t.Errorf("effects %v: want the wait that ended at 350ms second, after the arrival of 250ms", effects)
	}
	if want := (record.Ending{Kind: record.Timeout, Planned: due[0], Sent: due[0], Done: due[0] + 300*ms}); h.caller.ending != want {
		t.Errorf("ending %+v, want %+v", h.caller.ending, want)
	}
	if h.InFlight() != 3 || h.Open() != 3 {
		t.Errorf("%d in flight, %d open: want 3", h.InFlight(), h.Open())
	}
	h.Abandon(now)
	total := h.total(now)
	if total.UnsentBy[ReasonOutOfTime] != 1 || total.Timeout != 1 || total.Unfinished != 3 {
		t.Errorf("%+v, want 1 unsent out_of_time, 1 timeout, 3 unfinished", total)
	}
	if lag := h.series.Steps()[0].Lag; lag.Max.Round(10*ms) != 270*ms || lag.Count != 4 {
		t.Errorf("lag %+v, want 4, up to 270ms", lag)
	}
}

// An arrival is worth sending until an answer could no longer count.
func TestOutOfTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  time.Duration
		sends int
	}{
		{"one nanosecond left", 300*ms - 1, 1},
		{"nothing left", 300 * ms, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, Options{Grace: 200 * ms})
			due := h.offer(0, 10, 100*ms)
			h.sent(h.Advance(due[0]+c.late), c.sends)
			if c.sends == 0 {
				want := record.Ending{Kind: record.Unsent, Reason: ReasonOutOfTime, Planned: due[0], Done: due[0]}
				if h.caller.ending != want {
					t.Errorf("ending %+v, want %+v", h.caller.ending, want)
				}
				h.idle()
			}
		})
	}
}

func TestStop(t *testing.T) {
	t.Run("what is not due does not come", func(t *testing.T) {
		h := newHarness(t, Options{Grace: 200 * ms})
		due := h.offer(0, 10, 500*ms)
		h.sent(h.Advance(due[1]), 2)
		h.Stop(due[2] - 1)
		if h.Offering() {
			t.Error("offering after Stop")
		}
		h.sent(h.Advance(time.Second), 0)
		if total := h.total(time.Second); total.Planned != 2 || total.Timeout != 2 {
			t.Errorf("%+v, want 2 planned, 2 timeouts", total)
		}
	})
	t.Run("the next one is just due", func(t *testing.T) {
		h := newHarness(t, Options{})
		due := h.offer(0, 10, 500*ms)
		h.Stop(due[0])
		h.sent(h.Advance(due[0]), 1)
		if h.Offering() {
			t.Error("offering after the last arrival that was due")
		}
	})
	t.Run("what is due comes", func(t *testing.T) {
		h := newHarness(t, Options{Close: true})
		due := h.offer(0, 10, 500*ms)
		h.Stop(due[1])
		h.sent(h.Advance(due[1]), 1) // the first was not worth sending any more
		if h.Offering() {
			t.Error("offering after the last arrival that was due")
		}
		if total := h.total(due[1]); total.Planned != 2 || total.Unsent != 1 {
			t.Errorf("%+v, want 2 planned, 1 unsent", total)
		}
	})
}

func TestAbandon(t *testing.T) {
	h := newHarness(t, Options{Grace: 200 * ms})
	due := h.offer(0, 10, time.Second)
	a := h.sent(h.Advance(due[0]), 1)[0]
	b := h.sent(h.Advance(due[1]), 1)[0]
	// At due[3] the wait for a ends; the arrivals of due[2] and due[3] have not been sent.
	got := h.cancelled(h.Abandon(due[3]), 2)
	if !slices.Equal(got, []*Attempt{a, b}) {
		t.Errorf("cancelled %v, want %v", got, []*Attempt{a, b})
	}
	h.idle()
	total := h.total(due[3])
	want := record.Counts{Planned: 4, Sent: 2, Attempts: 2, Timeout: 1, Unsent: 2, Unfinished: 1}
	if total.Counts != want {
		t.Errorf("counts %+v, want %+v", total.Counts, want)
	}
}

// Classes with different patience wait side by side.
func TestClasses(t *testing.T) {
	h := newHarness(t, Options{Close: true, Classes: []plan.Class{
		{Name: "slow", Timeout: 90 * ms, Deadline: 90 * ms},
		{Name: "fast", Timeout: 30 * ms, Deadline: 30 * ms},
		{Name: "slow too", Timeout: 90 * ms, Deadline: ms},
	}})
	p, err := plan.New(plan.Spec{
		Seed:    1,
		Clients: 1,
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 100, For: 300 * ms}},
		Classes: []plan.Class{
			{Name: "slow", Weight: 1, Cost: 1, Timeout: ms, Deadline: ms},
			{Name: "fast", Weight: 1, Cost: 1, Timeout: ms, Deadline: ms},
			{Name: "slow too", Weight: 1, Cost: 1, Timeout: ms, Deadline: ms},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Offer(p, 0, 0)
	if len(h.caller.timers) != 2 {
		t.Errorf("%d queues, want one for each of two patiences", len(h.caller.timers))
	}
	waits := []time.Duration{90 * ms, 30 * ms, 90 * ms}
	timeouts := 0
	for h.Offering() || h.Open() > 0 {
		now := h.Next()
		for _, e := range h.Advance(now) {
			if e.Kind != Cancel {
				continue
			}
			timeouts++
			if want := e.Attempt.Planned + waits[e.Attempt.Arrival.Class]; now != want {
				t.Errorf("class %d planned at %v: cancelled at %v, want %v", e.Attempt.Arrival.Class, e.Attempt.Planned, now, want)
			}
		}
	}
	if timeouts != 30 {
		t.Errorf("%d timeouts, want 30", timeouts)
	}
}

// Steps are numbered through the run and begin when load comes for them.
func TestSteps(t *testing.T) {
	h := newHarness(t, Options{Close: true})
	phases := []plan.Phase{
		{Kind: plan.Hold, Rate: 10, For: 100 * ms},
		{Kind: plan.Hold, Rate: 0, For: 100 * ms, Label: "settle"},
		{Kind: plan.Ramp, From: 10, To: 30, For: 100 * ms},
		{Kind: plan.Hold, Rate: 0, For: 50 * ms, Label: "drain"},
	}
	first := h.offerPhases(time.Second, phases...)
	begun := func() (labels []string) {
		h.recorder.Flush(0)
		for _, s := range h.series.Steps() {
			labels = append(labels, s.Info.Phase)
		}
		return labels
	}
	want := func(labels ...string) {
		t.Helper()
		if got := begun(); !slices.Equal(got, labels) {
			t.Errorf("steps %v, want %v", got, labels)
		}
	}
	want()
	h.Advance(first[0])
	want("hold")
	h.Advance(first[1] - 1)
	want("hold")
	for _, at := range first[1:] {
		h.Advance(at)
	}
	want("hold", "settle", "ramp", "drain")
	h.Advance(2 * time.Second)

	second := h.offerPhases(2*time.Second, phases...)
	a := h.sent(h.Advance(second[0]), 1)[0]
	if a.Arrival.Step != 4 || a.Arrival.At != second[0] {
		t.Errorf("step %d at %v, want 4 at %v", a.Arrival.Step, a.Arrival.At, second[0])
	}
	h.Stop(second[0])
	h.Advance(3 * time.Second)
	h.offerPhases(3*time.Second, phases...)
	h.Advance(4 * time.Second)
	h.recorder.Flush(4 * time.Second)
	steps := h.series.Steps()
	if len(steps) != 9 {
		t.Fatalf("%d steps, want 4, 1 of the plan that was stopped, 4", len(steps))
	}
	wantInfo := record.StepInfo{Index: 7, Phase: "ramp", Start: 3*time.Second + 200*ms, Duration: 100 * ms, From: 10, To: 30}
	if steps[7].Info != wantInfo {
		t.Errorf("step 7 is %+v, want %+v", steps[7].Info, wantInfo)
	}
	for i, s := range steps {
		if err := s.Total.Conserved(); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
}

func TestNext(t *testing.T) {
	h := newHarness(t, Options{Grace: 200 * ms})
	if got := h.Next(); got != record.Window {
		t.Errorf("next at %v without load, want the recorder's %v", got, record.Window)
	}
	a, at := h.one()
	if got := h.Next(); got != record.Window {
		t.Errorf("next at %v while waiting, want the recorder's %v", got, record.Window)
	}
	h.Advance(record.Window)
	if got, want := h.Next(), at+300*ms; got != want {
		t.Errorf("next at %v, want the end of the wait at %v", got, want)
	}
	h.Answer(record.Window, a, Answer{})
	if got := h.Next(); got != 2*record.Window {
		t.Errorf("next at %v after the answer, want the recorder's %v", got, 2*record.Window)
	}
}

func TestMistakes(t *testing.T) {
	panics := func(t *testing.T, want string, f func()) {
		t.Helper()
		defer func() {
			if got, _ := recover().(string); !strings.Contains(got, want) {
				t.Errorf("panic %q, want one with %q", got, want)
			}
		}()
		f()
	}
	t.Run("answer to a cancelled attempt", func(t *testing.T) {
		h := newHarness(t, Options{})
		a, at := h.one()
		h.cancelled(h.Advance(at+100*ms), 1)
		panics(t, "over", func() { h.Answer(at+100*ms, a, Answer{}) })
	})
	t.Run("second answer", func(t *testing.T) {
		h := newHarness(t, Options{})
		a, at := h.one()
		h.Answer(at, a, Answer{})
		panics(t, "over", func() { h.Answer(at, a, Answer{}) })
	})
	t.Run("two plans at once", func(t *testing.T) {
		h := newHarness(t, Options{})
		h.offer(0, 10, time.Second)
		panics(t, "Offer", func() { h.offer(time.Second, 10, time.Second) })
	})
}

func TestOptions(t *testing.T) {
	class := plan.Class{Name: "web", Timeout: ms, Deadline: ms}
	with := func(f func(*plan.Class)) []plan.Class {
		c := class
		f(&c)
		return []plan.Class{class, c}
	}
	for _, c := range []struct {
		name    string
		options Options
		want    string // in the error; "" for none
	}{
		{"smallest", Options{Classes: []plan.Class{class}}, ""},
		{"largest", Options{Classes: with(func(c *plan.Class) { c.Timeout, c.Deadline = longest, longest }), Grace: longest}, ""},
		{"no classes", Options{}, "no classes"},
		{"no timeout", Options{Classes: with(func(c *plan.Class) { c.Timeout = 0 })}, `class "web": timeout is 0s`},
		{"timeout too long", Options{Classes: with(func(c *plan.Class) { c.Timeout = longest + 1 })}, "timeout is 24h0m0.000000001s: want above 0, up to 24h"},
		{"no deadline", Options{Classes: with(func(c *plan.Class) { c.Deadline = 0 })}, `class "web": deadline is 0s: want above 0, up to 24h`},
		{"deadline too long", Options{Classes: with(func(c *plan.Class) { c.Deadline = longest + 1 })}, "deadline is 24h"},
		{"negative grace", Options{Classes: []plan.Class{class}, Grace: -1}, "grace is -1ns"},
		{"grace too long", Options{Classes: []plan.Class{class}, Grace: longest + 1}, "grace is 24h"},
		{"negative bound", Options{Classes: []plan.Class{class}, MaxInFlight: -1}, "max_in_flight is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(c.options, nil)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
