package cases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/generator/client"
	"knee/generator/live"
	"knee/generator/plan"
	"knee/generator/record"
)

// A trip is a small run. Its zero fields have defaults.
type trip struct {
	rate     float64       // arrivals per second, evenly spaced; default 40
	length   time.Duration // default 400ms
	timeout  time.Duration // default 20s: longer than any machine stands still
	grace    time.Duration // for which callers listen on after the timeout
	listen   bool          // callers do not hang up at the timeout
	most     int           // attempts in flight at once; default no bound
	requests []live.Request
	http     live.HTTP
	rules    live.Rules
	observe  func(record.Reading)
}

// get, post and head are requests to the target.
func get(header ...string) []live.Request { return []live.Request{{Header: fields(header)}} }

func post(n int) []live.Request { return []live.Request{{Method: "POST", Body: make([]byte, n)}} }
func head() []live.Request      { return []live.Request{{Method: "HEAD"}} }
func fields(pairs []string) (h map[string][]string) {
	h = map[string][]string{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, ": ")
		h[name] = append(h[name], value)
	}
	return h
}

// rules reads rules, the successes first.
func rules(t *testing.T, success, reject []string) (r live.Rules) {
	t.Helper()
	for into, texts := range map[*[]live.Rule][]string{&r.Success: success, &r.Reject: reject} {
		for _, text := range texts {
			rule, err := live.ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			*into = append(*into, rule)
		}
	}
	return r
}

// An outcome is what a run recorded.
type outcome struct {
	tally   record.Tally
	step    *record.Step
	stats   live.Stats
	series  *record.Series
	planned uint64
	took    time.Duration // of the Run and of closing what it used
	within  time.Duration // by when it was to be over
	timeout time.Duration // of its requests
}

// run carries the trip out over one engine.
func (r trip) run(t testing.TB, url string, engine live.Engine) outcome {
	t.Helper()
	d, series, p := r.start(t, url, engine)
	began := time.Now()
	if err := d.Run(context.Background(), 0, p); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	r = r.withDefaults()
	o := outcome{series: series, stats: d.Stats(), planned: p.Count(), took: time.Since(began), within: r.length + r.timeout + r.grace, timeout: r.timeout}
	if steps := series.Steps(); len(steps) == 1 {
		o.step, o.tally = steps[0], steps[0].Total
	} else {
		t.Fatalf("%d steps were recorded, want 1", len(steps))
	}
	return o
}

func (r trip) withDefaults() trip {
	if r.rate == 0 {
		r.rate = 40
	}
	if r.length == 0 {
		r.length = 400 * time.Millisecond
	}
	if r.timeout == 0 {
		r.timeout = 20 * time.Second
	}
	return r
}

// start builds the driver, the series that it fills and the plan of a trip.
func (r trip) start(t testing.TB, url string, engine live.Engine) (*live.Driver, *record.Series, *plan.Plan) {
	t.Helper()
	r = r.withDefaults()
	target, err := live.ParseTarget(url)
	if err != nil {
		t.Fatal(err)
	}
	classes := []plan.Class{{Name: "any", Weight: 1, Criticality: 2, Cost: 1, Timeout: r.timeout, Deadline: r.timeout}}
	series := record.NewSeries([]string{"any"})
	d, err := live.New(live.Options{
		Target: target, Requests: r.requests, Engine: engine, HTTP: r.http, Rules: r.rules, Observe: r.observe,
		Client: client.Options{Classes: classes, Grace: r.grace, Close: !r.listen, MaxInFlight: r.most},
		Recorder: record.NewRecorder(record.RecorderOptions{
			Classes:    []string{"any"},
			MaxLatency: r.timeout + r.grace,
			Sink:       func(d *record.Delta) { series.Add(d); d.Release() },
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(plan.Spec{Classes: classes, Clients: 1, Phases: []plan.Phase{{Kind: plan.Hold, Rate: r.rate, For: r.length}}})
	if err != nil {
		t.Fatal(err)
	}
	return d, series, p
}

// endings returns how the arrivals ended, with the reasons of those that have
// one, such as failed:eof.
func (o outcome) endings() map[string]uint64 {
	all := map[string]uint64{"good": o.tally.Good, "late": o.tally.Late, "timeout": o.tally.Timeout, "unfinished": o.tally.Unfinished}
	for kind, by := range map[string]map[string]uint64{
		"rejected": o.tally.RejectedBy, "failed": o.tally.FailedBy, "withheld": o.tally.WithheldBy, "unsent": o.tally.UnsentBy,
	} {
		for reason, n := range by {
			all[kind+":"+reason] = n
		}
	}
	maps.DeleteFunc(all, func(_ string, n uint64) bool { return n == 0 })
	return all
}

// fastest returns the shortest latency of a success; a day when there is none.
func (o outcome) fastest() time.Duration {
	if o.tally.Good == 0 {
		return 24 * time.Hour
	}
	return o.series.Histogram(0, record.All, record.Response).Quantile(0)
}

// say returns endings in one line.
func say(endings map[string]uint64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(endings)) {
		parts = append(parts, fmt.Sprintf("%d %s", endings[name], name))
	}
	return strings.Join(parts, ", ")
}

// plain are the engines of HTTP/1.1 that there are here.
func plain() (all []live.Engine) {
	for _, e := range live.Engines() {
		if e != live.Auto && e != live.H2 {
			all = append(all, e)
		}
	}
	return all
}

// over2 is the engine of HTTP/2.
func over2() []live.Engine { return []live.Engine{live.H2} }

// perSecond returns how long n arrivals take at a rate.
func perSecond(n int, rate float64) time.Duration {
	return time.Duration(float64(n) / rate * float64(time.Second))
}
