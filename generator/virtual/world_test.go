package virtual

import (
	"math/rand/v2"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
	"knee/target/server"
)

const ms = time.Millisecond

// constant is work that is always the same.
type constant time.Duration

func (c constant) Draw(*rand.Rand) time.Duration { return time.Duration(c) }

// world is a driver with the series that its records add up to.
type world struct {
	*Driver
	series *record.Series
	watch  func(*record.Delta) // sees each Delta, unless nil
}

// fataler is what testing.TB and rapid.T have in common that is needed here.
type fataler interface {
	Helper()
	Fatal(...any)
}

// newWorld returns a world with a recorder for the client's classes.
func newWorld(tb fataler, o Options) *world {
	tb.Helper()
	var names []string
	longest := o.Client.Grace
	for _, c := range o.Client.Classes {
		names = append(names, c.Name)
		longest = max(longest, c.Timeout+o.Client.Grace)
	}
	w := &world{series: record.NewSeries(names)}
	o.Recorder = record.NewRecorder(record.RecorderOptions{
		Classes:    names,
		MaxLatency: longest,
		Sink: func(d *record.Delta) {
			w.series.Add(d)
			if w.watch != nil {
				w.watch(d)
			}
			d.Release()
		},
	})
	d, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	w.Driver = d
	return w
}

// newPlan returns the plan of s; what s leaves out is one client.
func newPlan(tb fataler, s plan.Spec) *plan.Plan {
	tb.Helper()
	s.Clients = max(s.Clients, 1)
	p, err := plan.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// abandonAt runs p until at and abandons it there.
func (w *world) abandonAt(trial int, p *plan.Plan, at time.Duration) {
	w.population.Offer(p, trial, w.now)
	for {
		server, population := w.server.Next(), w.population.Next()
		if min(server, population) > at {
			break
		}
		if server <= population {
			w.stepServer(server)
		} else {
			w.stepPopulation(population)
		}
	}
	w.now = at
	for _, e := range w.population.Abandon(at) {
		hangUp(e.Attempt)
	}
	w.recorder.Flush(at)
}

// probe is a protection that lets everything in and tells the test of it.
type probe struct {
	admit func(*protection.Request)
	leave func(protection.End)
}

func (p probe) Admit(_ time.Duration, r *protection.Request, _ protection.Load) protection.Reason {
	if p.admit != nil {
		p.admit(r)
	}
	return ""
}

func (p probe) Leave(_ time.Duration, _ *protection.Request, e protection.End) {
	if p.leave != nil {
		p.leave(e)
	}
}

func (p probe) link() server.Link {
	return server.Link{Kind: "probe", New: func() (protection.Protection, error) { return p, nil }}
}
