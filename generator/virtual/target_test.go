package virtual

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/fleet"
	"knee/target/server"
)

// alone returns a fleet of the one server that s describes.
func alone(tb fataler, s server.Spec) *fleet.Fleet {
	tb.Helper()
	f, err := fleet.New(fleet.Spec{
		Rand: func(string) *rand.Rand { return rand.New(rand.NewPCG(1, 1)) },
		Layers: []fleet.Layer{{
			Name: "front", Servers: 1,
			Server: func(int) server.Spec { return s },
			Balancer: func(r *rand.Rand) (fleet.Balancer, error) {
				info, err := fleet.Registry.Lookup("round_robin")
				if err != nil {
					return nil, err
				}
				return info.New(r, nil)
			},
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// A fleet of one server gives the records, to the byte, that the server alone
// gives, whatever the profile and the end of the run.
func TestFleetOfOneIsItsServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		p.resets = false           // a fleet tells its callers of a reset in another order
		if p.ending == "abandon" { // which looks into the server
			p.ending = "complete"
		}
		lone := p.journal(t)
		p.Target = alone(t, p.Server)
		if behind := p.journal(t); string(behind) != string(lone) {
			t.Fatalf("the server alone:\n%s\nbehind a balancer:\n%s", lone, behind)
		}
	})
}

// A driver carries plans out on a fleet, resets it and counts with it.
func TestDriverOfAFleet(t *testing.T) {
	classes := []plan.Class{{Name: "all", Weight: 1, Cost: 1, Timeout: 100 * ms, Deadline: 100 * ms}}
	f := alone(t, server.Spec{Workers: 1, Service: 10 * ms, Order: newOrder("fifo"), Chain: []server.Link{link("queue_bound", "count: 5", 1, 10*ms)}})
	w := newWorld(t, Options{Target: f, Client: client.Options{Classes: classes, Grace: 200 * ms}})
	p := newPlan(t, plan.Spec{Classes: classes, Work: constant(10 * ms), Phases: []plan.Phase{{Kind: plan.Hold, Rate: 200, For: time.Second}}})
	for trial := range 2 {
		if err := w.Run(context.Background(), trial, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Reset(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	total, counts := w.series.Total(), w.Counts()
	want := record.Counts{Planned: 400, Sent: 400, Attempts: 400, Good: total.Good, Rejected: 400 - total.Good}
	if total.Counts != want || total.Good < 195 || total.Good > 215 {
		t.Errorf("counts %+v, want 400 planned, about 205 of them good and the others rejected", total.Counts)
	}
	if counts.Arrived != 400 || counts.Served != total.Good || !reflect.DeepEqual(counts.Refused, total.RejectedBy) {
		t.Errorf("the fleet counts %+v, the callers %+v", counts, total)
	}
}
