package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"knee/target/fleet"
	"knee/target/protection"
	"knee/target/server"
)

// chain returns layers that call one another, with as much work in each, and
// the last of which refuses everything if it is broken.
func chain(hop fleet.Hop, broken bool, names ...string) []fleet.Layer {
	var all []fleet.Layer
	for i, name := range names {
		l := servers(name, 1, 100, ms)
		if i == len(names)-1 {
			if broken {
				l = servers(name, 1, 100, ms, no())
			}
		} else {
			l.Hop = hop
		}
		all = append(all, l)
	}
	return all
}

// Three layers that each try three times make 27 requests of one, and four
// times 64, when what they call in the end fails always.
func TestAttemptsMultiplyByLayer(t *testing.T) {
	for _, c := range []struct {
		name     string
		hop      fleet.Hop
		attempts []uint64 // at each layer, for each request
	}{
		{"one attempt", fleet.Hop{}, []uint64{1, 1, 1, 1}},
		{"three attempts", fleet.Hop{Behaviours: tries(3)}, []uint64{1, 3, 9, 27}},
		{"four attempts", fleet.Hop{Behaviours: tries(4)}, []uint64{1, 4, 16, 64}},
		{"four attempts, workers do not wait", fleet.Hop{Behaviours: tries(4), Async: true}, []uint64{1, 4, 16, 64}},
		{"three attempts and a pause", fleet.Hop{Behaviours: again{attempts: 3, pause: 5 * ms}.only}, []uint64{1, 3, 9, 27}},
		{"whoever gives up says not to try again", fleet.Hop{Behaviours: tries(3), SayNoRetry: true}, []uint64{1, 1, 1, 3}},
		{"it is said and not heeded", fleet.Hop{Behaviours: again{attempts: 3, ignore: true}.only, SayNoRetry: true}, []uint64{1, 3, 9, 27}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newRun(t, fleet.Spec{Layers: chain(c.hop, true, "front", "middle", "back", "store")})
			o.load(0, time.Second, 50, ms, 0)
			o.drain()
			o.check(t)
			var got []uint64
			for _, l := range o.Report().Layers {
				got = append(got, l.Attempts/50)
			}
			if !slices.Equal(got, c.attempts) {
				t.Errorf("attempts for each request %v, want %v", got, c.attempts)
			}
			for _, e := range o.ends {
				if e.ok || e.Reason != "no" || e.NoRetry != c.hop.SayNoRetry {
					t.Fatalf("a request ended with %+v, want the reason of the last layer, and NoRetry %v", e.fleetAnswer, c.hop.SayNoRetry)
				}
			}
		})
	}
}

// With each attempt failing by chance p a layer of at most four attempts makes
// (1-p^4)/(1-p): 1.111, 1.875 and 3.439 at .1, .5 and .9.
func TestAttemptsByShareOfFailures(t *testing.T) {
	for p, want := range map[float64]float64{0.1: 1.111, 0.5: 1.875, 0.9: 3.439} {
		random := stream(1, "failures")
		layers := chain(fleet.Hop{Behaviours: tries(4)}, false, "front", "back")
		layers[1].Server = func(int) server.Spec {
			return server.Spec{Workers: 1000, Service: ms, Order: fifo, Chain: []server.Link{
				rule(func(*protection.Request, protection.Load) protection.Reason {
					if random.Float64() < p {
						return "bad luck"
					}
					return ""
				}).link(),
			}}
		}
		o := newRun(t, fleet.Spec{Layers: layers})
		o.load(0, 20*time.Second, 1000, ms, 0)
		o.drain()
		r := o.Report().Layers[1]
		if got := float64(r.Attempts) / float64(r.Requests); got < want*0.98 || got > want*1.02 {
			t.Errorf("p = %v: %.3f attempts a request, want %.3f", p, got, want)
		}
	}
}

// budgets returns the time that each layer had left for a request when it
// arrived, of a caller that has 30 and layers that take 7, 4 and 1.
func budgets(t *testing.T, hop fleet.Hop) map[string]time.Duration {
	left := map[string]time.Duration{}
	var layers []fleet.Layer
	for i, work := range []time.Duration{7 * ms, 4 * ms, ms} {
		name := []string{"a", "b", "c"}[i]
		l := servers(name, 1, 1, work, rule(func(r *protection.Request, _ protection.Load) protection.Reason {
			left[name] = protection.Never
			if r.Deadline != protection.Never {
				left[name] = r.Deadline - r.Arrived
			}
			return ""
		}).link())
		l.Hop = hop
		layers = append(layers, l)
	}
	o := newRun(t, fleet.Spec{Layers: layers})
	o.send(time.Second, 7*ms, 30*ms)
	o.drain()
	o.check(t)
	return left
}

// A deadline of 30 leaves 23 after a layer that takes 7, and 19 after one that
// takes 4.
func TestDeadlinesGoAlong(t *testing.T) {
	for name, c := range map[string]struct {
		hop  fleet.Hop
		want string
	}{
		"deadline":             {fleet.Hop{}, "map[a:30ms b:23ms c:19ms]"},
		"workers do not wait":  {fleet.Hop{Async: true}, "map[a:30ms b:23ms c:19ms]"},
		"the earlier one":      {fleet.Hop{Timeout: 20 * ms}, "map[a:30ms b:20ms c:16ms]"},
		"dropped":              {fleet.Hop{DropDeadline: true}, fmt.Sprintf("map[a:30ms b:%v c:%v]", protection.Never, protection.Never)},
		"dropped, own timeout": {fleet.Hop{DropDeadline: true, Timeout: 20 * ms}, fmt.Sprintf("map[a:30ms b:%v c:%v]", protection.Never, protection.Never)},
	} {
		if got := fmt.Sprint(budgets(t, c.hop)); got != c.want {
			t.Errorf("%s: left %v, want %v", name, got, c.want)
		}
	}
}

// A slow layer of 100 requests a second gets 200. Without deadlines it works on
// requests whose callers have left; with them it could skip those, and whoever
// calls it stops to try for callers who have left.
func TestWithoutDeadlinesWorkIsInVain(t *testing.T) {
	vain := func(hop fleet.Hop) (unwanted, attempts uint64) {
		hop.Behaviours = tries(3)
		hop.Timeout = 200 * ms
		layers := []fleet.Layer{servers("front", 1, 10000, ms), servers("back", 1, 1, 10*ms, rule(
			func(r *protection.Request, _ protection.Load) protection.Reason {
				r.ExpireAt(r.Deadline-10*ms, "expired")
				return ""
			}).link())}
		layers[0].Hop = hop
		o := newRun(t, fleet.Spec{Layers: layers})
		o.load(0, 5*time.Second, 200, ms, 250*ms)
		o.until(5 * time.Second)
		r := o.Report().Layers[1]
		return r.Unwanted, r.Attempts
	}
	unwanted, attempts := vain(fleet.Hop{})
	unwantedDropped, attemptsDropped := vain(fleet.Hop{DropDeadline: true})
	t.Logf("in vain %d of 500, %d attempts; without deadlines %d, %d", unwanted, attempts, unwantedDropped, attemptsDropped)
	if unwanted > 0 || unwantedDropped < 400 || attemptsDropped < attempts*4/3 {
		t.Errorf("in vain %d of 500, %d attempts; without deadlines %d, %d attempts", unwanted, attempts, unwantedDropped, attemptsDropped)
	}
}

// A worker that waits for the next layer is taken: ten workers that take 10ms
// carry 1,000 requests a second, but 100 when they also wait 90ms.
func TestWorkersThatWaitAreTaken(t *testing.T) {
	for _, c := range []struct {
		async bool
		want  int
	}{{false, 100}, {true, 200}} {
		layers := []fleet.Layer{servers("front", 1, 10, 10*ms), servers("back", 1, 1000, 90*ms)}
		layers[0].Hop.Async = c.async
		o := newRun(t, fleet.Spec{Layers: layers})
		o.load(0, 10*time.Second, 200, 10*ms, 0)
		o.until(10 * time.Second)
		if got := o.good(time.Hour, 0, 10*time.Second) / 10; got < c.want-2 || got > c.want {
			t.Errorf("async %v: %d/s, want %d/s", c.async, got, c.want)
		}
	}
}

// An answer that says not to try again ends the attempts. A timeout says
// nothing, so the layer above tries again.
func TestNoRetryAndUncertainEndings(t *testing.T) {
	attempts := func(back fleet.Layer) []uint64 {
		layers := []fleet.Layer{servers("front", 1, 1000, ms), servers("middle", 1, 1000, ms), back}
		layers[0].Hop = fleet.Hop{Behaviours: tries(3), Timeout: 250 * ms}
		layers[1].Hop = fleet.Hop{Behaviours: tries(3), Timeout: 100 * ms, SayNoRetry: true}
		o := newRun(t, fleet.Spec{Layers: layers})
		o.load(0, time.Second, 10, ms, 0)
		o.until(5 * time.Second)
		o.check(t)
		var n []uint64
		for _, l := range o.Report().Layers {
			n = append(n, l.Attempts/10)
		}
		return n
	}
	if got := attempts(servers("back", 1, 1, ms, no())); !slices.Equal(got, []uint64{1, 1, 3}) {
		t.Errorf("refused: %v attempts, want 1 1 3", got)
	}
	// A back that hangs: the middle needs 300ms to give up and say so, the front
	// waits 250ms and cannot know.
	hangs := servers("back", 1, 1000, time.Hour)
	if got := attempts(hangs); !slices.Equal(got, []uint64{1, 3, 9}) {
		t.Errorf("hanging: %v attempts, want 1 3 9", got)
	}
}

// Critical and sheddable requests share a back that keeps its last places for
// what is critical. When nobody says what is, sheddable ones take those places.
func TestCriticalityLostAtAHop(t *testing.T) {
	served := func(drop bool) map[protection.Criticality]int {
		layers := []fleet.Layer{servers("front", 1, 1000, ms), servers("back", 1, 1, 10*ms, rule(
			func(r *protection.Request, l protection.Load) protection.Reason {
				if room := map[bool]int{false: 2, true: 10}[r.Criticality >= protection.Critical]; l.Waiting >= room {
					return "criticality"
				}
				return ""
			}).link())}
		layers[0].Hop.DropCriticality = drop
		o := newRun(t, fleet.Spec{Layers: layers})
		for i := range 2000 { // 200/s where 100/s fit; four in ten are critical
			at := time.Duration(i) * 5 * ms
			r := &protection.Request{Cost: 1, Work: ms, Arrived: at, Deadline: protection.Never, Attempt: 1, Criticality: protection.Sheddable}
			if i%5 < 2 {
				r.Criticality = protection.Critical
			}
			o.id++
			o.offer(at, r)
		}
		o.drain()
		n := map[protection.Criticality]int{}
		for _, e := range o.ends {
			if e.ok {
				n[e.r.Criticality]++
			}
		}
		return n
	}
	known, lost := served(false), served(true)
	t.Logf("of 800 critical and 1,200 sheddable: known %v, lost %v", known, lost)
	if known[protection.Critical] != 800 || known[protection.Sheddable] > 210 {
		t.Errorf("known: served %v, want all 800 critical ones", known)
	}
	if lost[protection.Critical] > 500 || lost[protection.Sheddable] < 500 {
		t.Errorf("lost: served %v, want sheddable ones in the place of critical ones", lost)
	}
}
