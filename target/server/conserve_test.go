package server_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/fault"
	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

// census is a protection that holds the others to their contract: it counts who
// is inside.
type census struct {
	inside  map[*protection.Request]bool
	pushOut bool // the load may leave out a request that is about to be pushed out
	wrong   error
}

func (p *census) Admit(now time.Duration, r *protection.Request, l protection.Load) protection.Reason {
	switch {
	case p.inside[r]:
		p.wrong = fmt.Errorf("request %d arrives while inside", r.ID)
	case l.Admitted != len(p.inside) && !(p.pushOut && l.Admitted == len(p.inside)-1):
		p.wrong = fmt.Errorf("load says %d are inside, and %d are", l.Admitted, len(p.inside))
	case l.Waiting+l.Running > l.Admitted || l.Waiting < 0 || l.Running < 0 || l.QueuedCost < -1e-6:
		p.wrong = fmt.Errorf("impossible load %+v", l)
	case (l.Waiting == 0) != (l.Oldest == protection.Never) || l.Waiting == 0 && (l.LastEmpty != now || l.QueuedCost != 0):
		p.wrong = fmt.Errorf("an empty queue does not look so at %v: %+v", now, l)
	}
	p.inside[r] = true
	return ""
}

func (p *census) Leave(_ time.Duration, r *protection.Request, e protection.End) {
	if !p.inside[r] {
		p.wrong = fmt.Errorf("request %d leaves and was not inside", r.ID)
	}
	why := e.Reason != ""
	if e.Outcome == protection.Dropped && !why || e.Outcome == protection.Served && why || e.Waited < 0 || e.Served < 0 {
		p.wrong = fmt.Errorf("request %d ends as %+v", r.ID, e)
	}
	delete(p.inside, r)
}

// faultsToTry are faults as they stand in a profile.
var faultsToTry = []string{
	"slow_service:factor=3", "slow_service:fixed=4ms,share=0.5", "lose_workers:count=1", "stall", "stall:share=0.3", "pause", "error_share:share=0.4",
	"crash_restart:down=6ms,warm_up=20ms", "slow_reject:reject_cost=0.5", "contention:contention=0.3,coherence=0.1",
	"dependency_stall:share=0.3", "dependency_stall:share=0.5,hold=5ms", "expensive_burst:share=0.3,factor=5",
}

// faultNamed builds a fault, KIND[:knob=value,…].
func faultNamed(t interface{ Fatal(...any) }, spec string) fault.Fault {
	kind, set, _ := strings.Cut(spec, ":")
	info, err := fault.Registry.Lookup(kind)
	if err != nil {
		t.Fatal(err)
	}
	knobs := info.Knobs()
	setKnobs(knobs, set)
	f, err := info.New(fault.Setup{Workers: 4, Service: 10 * ms, Rand: rand.New(rand.NewPCG(1, 2))}, knobs)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// failedSilently is how many requests a shell itself finished as failed: it tells
// their callers.
func failedSilently(n server.Counts) uint64 {
	silent := n.Failed
	for _, k := range n.FailedBy {
		silent -= k
	}
	return silent
}

// TestEveryRequestEndsOnce lets rapid do to a core all that a shell may do, and
// holds after each step that every request is in exactly one place and that
// each protection has been told of each ending once.
func TestEveryRequestEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 200).Draw(t, "ms")) * ms / 10
		})
		protections := []string{
			"none", "queue_bound:count=3", "queue_bound:cost=4", "queue_bound:wait=20ms", "queue_bound:age=7ms",
			"deadline:allowance=0", "deadline:allowance=p95,admit=true", "deadline:allowance=3ms,slack=1ms", "limit:limit=5", "rate:rate=300,burst=4",
		}
		o := rapid.SampledFrom([]string{"fifo", "lifo", "push-out"}).Draw(t, "order")
		var censuses []*census
		take := server.Link{Kind: "census", New: func() (protection.Protection, error) {
			p := &census{inside: map[*protection.Request]bool{}, pushOut: o == "push-out"}
			censuses = append(censuses, p)
			return p, nil
		}}
		chain := []server.Link{take}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(protections), 0, 4).Draw(t, "chain") {
			chain = append(append(chain, chainNamed(name)...), take)
		}
		spec := server.Spec{
			Workers:  rapid.IntRange(1, 4).Draw(t, "workers"),
			Service:  10 * ms,
			External: rapid.Bool().Draw(t, "external"),

			ExternalDebt: rapid.Bool().Draw(t, "external debt"),
			RejectCost:   rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "reject cost"),
			Chain:        chain,
		}
		if !spec.External {
			spec.Batch = rapid.SampledFrom([]server.Batch{{}, {Size: 3}, {Size: 2, Delay: 4 * ms, Overhead: ms}}).Draw(t, "batch")
		}
		if spec.Order = orderNamed(o); o == "push-out" {
			spec.Order = func() (order.Order, error) { return newUpstart(), nil }
		}
		c, err := server.New(spec)
		if err != nil {
			t.Fatal(err)
		}

		var (
			now, last     time.Duration
			id            uint64
			open          = map[*protection.Request]bool{} // no answer yet
			all           []*protection.Request
			heldNow, runs []*protection.Request
			silent        uint64 // released or failed: the shell answers itself
			faults        []fault.Fault
			debtors       []uint64
		)
		remove := func(s []*protection.Request, i int) []*protection.Request {
			return append(s[:i:i], s[i+1:]...)
		}
		newRequest := func(t *rapid.T) *protection.Request {
			id++
			r := &protection.Request{
				ID: id, Cost: float64(rapid.IntRange(1, 30).Draw(t, "cost")) / 10, Work: duration.Draw(t, "work"),
				Criticality: protection.Criticality(rapid.IntRange(0, 3).Draw(t, "criticality")),
				Arrived:     now + 5*ms - duration.Draw(t, "read for"), Deadline: protection.Never,
			}
			if rapid.Bool().Draw(t, "has a deadline") {
				r.Deadline = now + duration.Draw(t, "patience")
			}
			all, open[r] = append(all, r), true
			return r
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) { c.Arrive(now, newRequest(t)) },
			"arrive again": func(t *rapid.T) {
				for range 5 {
					c.Arrive(now, newRequest(t))
				}
			},
			"admit": func(t *rapid.T) {
				if c.Advance(now); c.Paused() {
					t.Skip()
				}
				if r := newRequest(t); c.Admit(now, r) == "" {
					heldNow = append(heldNow, r)
				}
			},
			"enqueue": func(t *rapid.T) {
				if len(heldNow) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(heldNow)-1).Draw(t, "which")
				c.Enqueue(now, heldNow[i])
				heldNow = remove(heldNow, i)
			},
			"release": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				r := all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]
				if c.Release(now, r, "closed") { // most are answered already, or run
					delete(open, r)
					silent++
				}
			},
			"finish": func(t *rapid.T) {
				if len(runs) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(runs)-1).Draw(t, "which")
				outcome := rapid.SampledFrom([]protection.Outcome{protection.Served, protection.Failed}).Draw(t, "outcome")
				before := failedSilently(c.Counts())
				c.Finish(now, runs[i], outcome)
				if failedSilently(c.Counts()) > before {
					delete(open, runs[i])
				}
				runs = remove(runs, i)
			},
			"pay": func(t *rapid.T) {
				if len(debtors) == 0 {
					t.Skip()
				}
				c.Paid(now, debtors[0])
				debtors = debtors[1:]
			},
			"advance": func(t *rapid.T) {
				now += duration.Draw(t, "by")
				c.Advance(now)
			},
			"to the next": func(t *rapid.T) {
				if next := c.Next(); next != protection.Never {
					now = max(now, next)
					c.Advance(now)
				}
			},
			"fault": func(t *rapid.T) {
				f := &bent{until: now + duration.Draw(t, "until"), before: factor(rapid.SampledFrom([]float64{0.3, 1, 2.5}).Draw(t, "factor")), after: rapid.SampledFrom([]func(*fault.Conditions){healthy, stall, workers(0), workers(2)}).Draw(t, "after")}
				faults = append(faults, f)
				c.Inject(now, f)
			},
			"registered fault": func(t *rapid.T) {
				f := faultNamed(t, rapid.SampledFrom(faultsToTry).Draw(t, "kind"))
				faults = append(faults, f)
				c.Inject(now, f)
			},
			"lift": func(t *rapid.T) {
				if len(faults) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(faults)-1).Draw(t, "which")
				c.Lift(now, faults[i])
				faults = append(faults[:i:i], faults[i+1:]...)
			},
			"lift all": func(t *rapid.T) {
				for _, f := range faults {
					c.Lift(now, f)
				}
				faults = nil
			},
			"reset": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					t.Skip()
				}
				if err := c.Reset(now); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				for _, e := range c.Effects() {
					if e.At < last || e.At > now {
						t.Fatalf("an effect at %v, after one at %v and reported at %v", e.At, last, now)
					}
					last = e.At
					if e.Kind == server.Pay {
						debtors = append(debtors, e.Debtor)
						continue
					}
					if !open[e.R] {
						t.Fatalf("request %d was answered twice", e.R.ID)
					}
					if e.Kind == server.Start {
						runs = append(runs, e.R)
						continue
					}
					if (e.Kind == server.Reply) != (e.Answer.Reason == "") {
						t.Fatalf("effect %+v", e)
					}
					delete(open, e.R)
				}
				n, g := c.Counts(), c.Gauges(now)
				ended := n.Served + n.Failed + n.Resets
				for _, by := range []map[string]uint64{n.Refused, n.Dropped} {
					for _, k := range by {
						ended += k
					}
				}
				if n.Arrived+uint64(g.Outside) != id || n.Arrived != ended+uint64(g.Admitted) || len(open) != g.Admitted+g.Outside {
					t.Fatalf("%d arrived, %d ended, %d inside, %d outside, %d without an answer: %+v", n.Arrived, ended, g.Admitted, g.Outside, len(open), n)
				}
				if n.Dropped["closed"] != silent {
					t.Fatalf("%d released, %d counted", silent, n.Dropped["closed"])
				}
				var wrong []error
				for i, p := range censuses {
					want := 0 // a reset has emptied the protections before it
					if i >= len(censuses)-(len(chain)+1)/2 {
						want = g.Admitted
					}
					if p.wrong == nil && len(p.inside) != want {
						p.wrong = fmt.Errorf("protection %d knows of %d inside, want %d", i, len(p.inside), want)
					}
					wrong = append(wrong, p.wrong)
				}
				if err := errors.Join(wrong...); err != nil {
					t.Fatal(err)
				}
				if c.Next() < now {
					t.Fatalf("at %v the core wants to be woken at %v", now, c.Next())
				}
			},
		})
	})
}

// Faults allocate nothing for a request either.
func TestFaultsAllocateNothing(t *testing.T) {
	f := newFlood(t, server.Spec{Workers: 10, Service: 10 * ms, Order: orderNamed("fifo"), Chain: chainNamed("queue_bound:count=20")}, 1.5, time.Second)
	for _, name := range []string{
		"slow_service:fixed=20ms,share=0.5", "error_share:share=0.2", "contention", "slow_reject:reject_cost=0.2",
		"dependency_stall:share=0.1,hold=5ms", "expensive_burst:share=0.1",
	} {
		f.core.Inject(0, faultNamed(t, name))
	}
	for range 10_000 {
		f.arrive()
	}
	if n := testing.AllocsPerRun(1000, f.arrive); n != 0 {
		t.Errorf("%v allocations for an arrival", n)
	}
}
