package virtual

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
	"knee/target/server"
)

// One worker takes 100 ms for each of ten requests that come every 50 ms, at
// 25, 75 … 475 ms. Unhindered, the n-th (from 0) is answered after 100 + 50n ms.
// They time out after 150 ms and are listened for 100 ms longer.
func TestByHand(t *testing.T) {
	bound := link("queue_bound", "count: 1", 1, 100*ms)
	for _, c := range []struct {
		name   string
		tune   func(*Options)
		want   record.Counts
		served uint64 // by the time the last original ended
		end    time.Duration
	}{
		{
			// The second answer comes at its timeout, the fourth at the end of its
			// grace, at the instant at which the seventh arrives. The worker goes on
			// with what nobody waits for: its seventh answer comes at 725 ms, when
			// the last original times out.
			"no protection", func(*Options) {},
			record.Counts{Good: 2, Late: 2, Timeout: 6},
			7, 725 * ms,
		},
		{
			"hang up", func(o *Options) { o.Client.Close = true },
			record.Counts{Good: 2, Timeout: 8},
			6, 625 * ms,
		},
		{
			"deadline before the timeout", func(o *Options) { o.Client.Classes[0].Deadline = 150*ms - 1 },
			record.Counts{Good: 1, Late: 3, Timeout: 6},
			7, 725 * ms,
		},
		{
			// One may wait: from the fourth on, every second one finds the place taken.
			"bound", func(o *Options) { o.Server.Chain = []server.Link{bound} },
			record.Counts{Good: 2, Late: 4, Rejected: 4},
			6, 625 * ms,
		},
		{
			"two in flight", func(o *Options) { o.Client.MaxInFlight = 2 },
			record.Counts{Good: 2, Late: 4, Unsent: 4},
			6, 625 * ms,
		},
		{
			"transport fails before the server", func(o *Options) {
				o.Fail = func(a *client.Attempt) Failure {
					if a.Arrival.Seq%2 == 0 {
						return Failure{}
					}
					return Failure{Where: Sending, Answer: client.Answer{Result: client.Failed, Reason: "connect"}}
				}
			},
			record.Counts{Good: 5, Failed: 5},
			5, 525 * ms,
		},
		{
			"transport fails after the server", func(o *Options) {
				o.Fail = func(a *client.Attempt) Failure {
					if a.Arrival.Seq > 0 {
						return Failure{}
					}
					return Failure{Where: Answering, Answer: client.Answer{Result: client.Failed, Reason: "reset"}}
				}
			},
			record.Counts{Good: 1, Late: 2, Failed: 1, Timeout: 6},
			7, 725 * ms,
		},
		{
			"transport does not send", func(o *Options) {
				o.Fail = func(*client.Attempt) Failure {
					return Failure{Where: Sending, Answer: client.Answer{Result: client.NotSent, Reason: "ports"}}
				}
			},
			record.Counts{Unsent: 10},
			0, 500 * ms,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := oneWorker()
			c.tune(&o)
			w := newWorld(t, o)
			if err := w.Run(t.Context(), 0, tenArrivals(t)); err != nil {
				t.Fatal(err)
			}
			c.want.Planned = 10
			c.want.Sent = 10 - c.want.Unsent
			c.want.Attempts = c.want.Sent
			total := w.series.Total()
			if diff := cmp.Diff(c.want, total.Counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if err := total.Conserved(); err != nil {
				t.Error(err)
			}
			if got := w.Counts().Served; got != c.served {
				t.Errorf("served %d, want %d", got, c.served)
			}
			if w.Now() != c.end {
				t.Errorf("it is %v, want %v", w.Now(), c.end)
			}
		})
	}
}

func oneWorker() Options {
	return Options{
		Server: server.Spec{Workers: 1, Service: 100 * ms, Order: newOrder("fifo")},
		Client: client.Options{
			Classes: []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: 150 * ms, Deadline: 150 * ms}},
			Grace:   100 * ms,
		},
	}
}

func tenArrivals(t *testing.T) *plan.Plan {
	return newPlan(t, plan.Spec{
		Classes: oneWorker().Client.Classes,
		Work:    constant(100 * ms),
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 20, For: 500 * ms}},
	})
}

// At 300 ms two of the ten have been answered and four have come and wait.
func TestAbandonInTheMiddle(t *testing.T) {
	w := newWorld(t, oneWorker())
	w.abandonAt(0, tenArrivals(t), 300*ms)
	want := record.Counts{Planned: 6, Sent: 6, Attempts: 6, Good: 2, Unfinished: 4}
	if got := w.series.Total().Counts; got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

// A context that is done stops the arrivals; what is open is waited for.
func TestCancel(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	o := oneWorker()
	sent := 0
	o.Fail = func(*client.Attempt) Failure {
		if sent++; sent == 300 {
			cancel(cause)
		}
		return Failure{}
	}
	w := newWorld(t, o)
	p := newPlan(t, plan.Spec{
		Classes: o.Client.Classes,
		Work:    constant(100 * ms),
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 20, For: time.Hour}},
	})
	if err := w.Run(ctx, 0, p); err != cause {
		t.Errorf("error %v, want the context's cause", err)
	}
	total := w.series.Total()
	if err := total.Conserved(); err != nil {
		t.Error(err)
	}
	if total.Planned < 300 || total.Planned > 300+patrol || total.Unfinished != 0 {
		t.Errorf("%d planned, %d unfinished: want 300 and what comes until the context is looked at, and 0", total.Planned, total.Unfinished)
	}
	if last := time.Duration(total.Planned)*50*ms - 25*ms; w.Now() != last+250*ms {
		t.Errorf("it is %v, want the end of the wait for the last arrival, %v", w.Now(), last+250*ms)
	}
	if err := w.Run(ctx, 1, p); err != cause || w.series.Total().Planned != total.Planned {
		t.Errorf("run with a context that is done: error %v, %d planned: want its cause, and %d", err, w.series.Total().Planned, total.Planned)
	}
}

// What is inside a server outlives a plan, until it is reset.
func TestReset(t *testing.T) {
	for _, reset := range []bool{false, true} {
		w := newWorld(t, oneWorker())
		p := tenArrivals(t)
		if err := w.Run(t.Context(), 0, p); err != nil {
			t.Fatal(err)
		}
		first := w.series.Total().Good
		if reset {
			if err := w.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Run(t.Context(), 1, p); err != nil {
			t.Fatal(err)
		}
		second := w.series.Total().Good - first
		// Three requests of the first plan are left at 725 ms, and one is running.
		if want := map[bool]uint64{false: 0, true: 2}[reset]; second != want {
			t.Errorf("reset %v: %d good in the second plan, want %d", reset, second, want)
		}
		if c := w.Counts(); reset && c.Resets != 3 || !reset && c.Resets != 0 {
			t.Errorf("reset %v: %d requests reset", reset, c.Resets)
		}
	}
}

// Another server takes over at the instant that the run has come to, with nothing
// inside; what the one before counted stays counted.
func TestTurn(t *testing.T) {
	w := newWorld(t, oneWorker())
	p := tenArrivals(t)
	if err := w.Run(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	first := w.series.Total().Good
	two := oneWorker().Server
	two.Workers = 10
	if err := w.Turn(two); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context(), 1, p); err != nil {
		t.Fatal(err)
	}
	if second := w.series.Total().Good - first; second != 10 {
		t.Errorf("%d good with ten workers, want all 10; %d with one", second, first)
	}
	if c := w.Counts(); c.Arrived != 20 || c.Resets != 3 {
		t.Errorf("the servers counted %+v, want 20 arrivals and 3 resets", c)
	}
	two.External = true
	if err := w.Turn(two); err == nil {
		t.Error("a server whose work is done elsewhere: no error")
	}
}

// A plan takes its time, also where nothing comes.
func TestIdlePlan(t *testing.T) {
	w := newWorld(t, oneWorker())
	p := newPlan(t, plan.Spec{
		Classes: oneWorker().Client.Classes,
		Phases:  []plan.Phase{{Kind: plan.Hold, For: 700 * ms}},
	})
	for i := range 2 {
		if err := w.Run(t.Context(), i, p); err != nil {
			t.Fatal(err)
		}
	}
	// The second begins with a window, at 800ms.
	if w.Now() != 1500*ms {
		t.Errorf("it is %v after two plans of 700ms, want 1.5s", w.Now())
	}
	steps := w.series.Steps()
	if len(steps) != 2 || steps[1].Info.Start != 800*ms || steps[1].Info.Trial != 1 {
		t.Errorf("steps %+v, want one for each plan", steps)
	}
}

// While nothing comes the server works on: ten requests take it a second.
func TestSettle(t *testing.T) {
	w := newWorld(t, oneWorker())
	p := newPlan(t, plan.Spec{
		Classes: oneWorker().Client.Classes,
		Work:    constant(100 * ms),
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 20, For: 500 * ms}, {Kind: plan.Hold, For: time.Second}},
	})
	if err := w.Run(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	if served := w.Counts().Served; served != 10 || w.Now() != 1500*ms {
		t.Errorf("served %d at %v, want 10 at 1.5s", served, w.Now())
	}
}

// The server learns what the class says and when an answer becomes useless.
func TestRequest(t *testing.T) {
	o := oneWorker()
	o.Client.Classes = []plan.Class{
		{Name: "a", Weight: 1, Criticality: 3, Tenant: "t", Cost: 2, Timeout: 100 * ms, Deadline: 40 * ms},
		{Name: "b", Weight: 1, Criticality: 0, Cost: 0.5, Timeout: 30 * ms, Deadline: 50 * ms},
	}
	var got []protection.Request
	var sent []client.Attempt
	o.Server.Chain = []server.Link{probe{admit: func(r *protection.Request) {
		got = append(got, *r)
		r.Degraded = true
	}}.link()}
	o.Fail = func(a *client.Attempt) Failure {
		sent = append(sent, *a)
		return Failure{}
	}
	w := newWorld(t, o)
	p := newPlan(t, plan.Spec{
		Clients: 9,
		Classes: o.Client.Classes,
		Work:    constant(5 * ms),
		Phases:  []plan.Phase{{Kind: plan.Hold, Rate: 100, For: time.Second}},
	})
	if err := w.Run(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	patience := []time.Duration{40 * ms, 30 * ms}
	byClass := make([]int, 2)
	for i, r := range got {
		a := sent[i].Arrival
		byClass[a.Class]++
		class := o.Client.Classes[a.Class]
		if r.ID != uint64(i) || r.Class != a.Class || r.Client != a.Client || r.Work != 5*ms || r.Arrived != a.At ||
			r.Deadline != a.At+patience[a.Class] || int(r.Criticality) != class.Criticality || r.Tenant != class.Tenant || r.Cost != class.Cost {
			t.Fatalf("request %+v of arrival %+v", r, a)
		}
	}
	if byClass[0] == 0 || byClass[1] == 0 || byClass[0]+byClass[1] != 100 {
		t.Errorf("arrivals by class %v, want some of each of 100", byClass)
	}
	if total := w.series.Total(); total.Degraded != 100 {
		t.Errorf("%d degraded, want all 100", total.Degraded)
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		tune func(*Options)
		want string
	}{
		{"external work", func(o *Options) { o.Server.External = true }, "virtual: the server's work is external"},
		{"bad server", func(o *Options) { o.Server.Workers = 0 }, "virtual: server: workers is 0"},
		{"bad client", func(o *Options) { o.Client.Grace = -1 }, "virtual: client: grace is -1ns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := oneWorker()
			c.tune(&o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
