package virtual

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"knee/generator/client"
	"knee/generator/record"
)

// Every arrival ends exactly once, whatever the load, the client, the server and
// its protections, the faults of the transport and the end of the run; and what
// the client counts is what the server counts.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 6 { // 600 runs, of some hundred arrivals each
			r := drawProfile(t).run(t, nil)
			r.checkSums(t)
			r.checkArrivals(t)
			r.checkServer(t)
		}
	})
}

// outcome is a profile that was run.
type outcome struct {
	profile
	*world
	broken   map[string]uint64 // attempts that the transport broke, by kind
	attempts uint64
}

// run runs p in a world of its own, which shows watch each Delta.
func (p profile) run(t *rapid.T, watch func(*record.Delta)) *outcome {
	r := &outcome{profile: p, broken: map[string]uint64{}}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	cause := errors.New("stopped by the test")
	random := rand.New(rand.NewPCG(1, 1))
	last := false
	p.Fail = func(*client.Attempt) Failure {
		r.attempts++
		if p.after--; p.after <= 0 && last && p.ending == "cancel" {
			cancel(cause)
		}
		return r.failure(random)
	}
	p.Client.Behaviours = p.behaviours(t)
	r.world = newWorld(t, p.Options)
	r.watch = watch
	for i, spec := range p.plans {
		pl := newPlan(t, spec)
		last = i == len(p.plans)-1
		if last && p.ending == "abandon" {
			r.abandonAt(i, pl, r.Now()+p.at)
			break
		}
		if err := r.Run(ctx, i, pl); err != nil && err != cause {
			t.Fatal(err)
		}
		if p.resets {
			if err := r.Reset(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// failure draws what the transport does to an attempt.
func (r *outcome) failure(random *rand.Rand) Failure {
	for _, f := range []struct {
		percent int
		failure Failure
	}{
		{r.fail.connect, Failure{Sending, client.Answer{Result: client.Failed, Reason: "connect"}}},
		{r.fail.ports, Failure{Sending, client.Answer{Result: client.NotSent, Reason: "ports"}}},
		{r.fail.reset, Failure{Answering, client.Answer{Result: client.Failed, Reason: "reset"}}},
	} {
		if random.IntN(100) < f.percent {
			r.broken[f.failure.Answer.Reason]++
			return f.failure
		}
	}
	return Failure{}
}

// checkSums holds every sum against the numbers that it is made of.
func (r *outcome) checkSums(t *rapid.T) {
	var byPlanned, byEnding record.Counts
	for i, s := range r.series.Steps() {
		if err := s.Total.Conserved(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		var byClass, windows record.Counts
		for c, tally := range s.ByClass {
			if err := tally.Conserved(); err != nil {
				t.Fatalf("step %d, class %d: %v", i, c, err)
			}
			byClass.Add(tally.Counts)
		}
		for _, w := range s.ByPlanned {
			windows.Add(w)
		}
		if byClass != s.Total.Counts || windows != s.Total.Counts {
			t.Fatalf("step %d: total %+v, by class %+v, by window %+v", i, s.Total.Counts, byClass, windows)
		}
		if s.Response.Count != int64(s.Total.Good) || s.Reject.Count != int64(s.Total.Rejected) || s.Late.Count != int64(s.Total.Late) {
			t.Fatalf("step %d: %d good, %d rejected, %d late durations: want %+v", i, s.Response.Count, s.Reject.Count, s.Late.Count, s.Total.Counts)
		}
		byPlanned.Add(windows)
	}
	for _, w := range r.series.ByEnding() {
		byEnding.Add(w)
	}
	if byEnding != byPlanned {
		t.Fatalf("by ending %+v, by planned %+v", byEnding, byPlanned)
	}
	if r.population.Open() != 0 || r.population.InFlight() != 0 {
		t.Fatalf("%d open, %d in flight at the end", r.population.Open(), r.population.InFlight())
	}
}

// checkArrivals holds what was counted as planned against the plans: each
// arrival in its step and class; of one that was stopped, the first ones.
func (r *outcome) checkArrivals(t *rapid.T) {
	type place struct{ step, class int }
	want, got := map[place]uint64{}, map[place]uint64{}
	left, all := r.series.Total().Planned, uint64(0)
	base := 0
	for _, spec := range r.plans {
		pl := newPlan(t, spec)
		for a := range pl.All() {
			if all++; all <= left {
				want[place{base + a.Step, a.Class}]++
			}
		}
		base += len(pl.Steps())
	}
	for i, s := range r.series.Steps() {
		for c, tally := range s.ByClass {
			if tally.Planned > 0 {
				got[place{i, c}] = tally.Planned
			}
		}
	}
	if len(got) != len(want) || left > all || r.ending == "complete" && left != all {
		t.Fatalf("%d of %d planned, ending %s: by step and class %v, want %v", left, all, r.ending, got, want)
	}
	for p, n := range want {
		if got[p] != n {
			t.Fatalf("planned %v, want %v", got, want)
		}
	}
}

// checkServer reconciles the client's counts with the server's.
func (r *outcome) checkServer(t *rapid.T) {
	total, counts := r.series.Total(), r.Counts()
	var left uint64 // requests that left the server
	for _, by := range []map[string]uint64{counts.Refused, counts.Dropped} {
		for _, n := range by {
			left += n
		}
	}
	left += counts.Served + counts.Resets
	inside := uint64(r.server.Gauges(r.Now()).Admitted)
	reached := r.attempts - r.broken["connect"] - r.broken["ports"]
	if counts.Arrived != reached || counts.Arrived != left+inside {
		t.Fatalf("server: %d arrived, %d left, %d inside; %d attempts reached it", counts.Arrived, left, inside, reached)
	}
	if total.Attempts != r.attempts-r.broken["ports"] || total.UnsentBy["ports"] > r.broken["ports"] || total.FailedBy["connect"] > r.broken["connect"] {
		t.Fatalf("%+v: want %d attempts less %v", total, r.attempts, r.broken)
	}
	if r.chain == nil && (total.UnsentBy["ports"] != r.broken["ports"] || total.FailedBy["connect"] != r.broken["connect"]) {
		t.Fatalf("%+v: want %d attempts less %v", total, r.attempts, r.broken)
	}
	for reason, n := range total.RejectedBy {
		said := counts.Refused[reason] + counts.Dropped[reason]
		if reason == "reset" {
			said = counts.Resets
		}
		if n > said {
			t.Fatalf("client: %d rejected as %s, server: %d", n, reason, said)
		}
	}
	// Unless somebody gave up waiting, every answer was heard or lost on its way.
	heard := total.Good + total.Late + total.Rejected + total.FailedBy["reset"]
	if gaveUp := total.Timeout + total.Unfinished; r.chain == nil && gaveUp == 0 && heard != left || heard > left {
		t.Fatalf("client: %d answers heard, %d not waited for; server: %d given", heard, gaveUp, left)
	}
}
