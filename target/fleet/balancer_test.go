package fleet_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/target/fleet"
	"knee/target/plugin"
)

// picks returns how many of n requests, ten at a time, each of a layer's servers
// got. Work takes 10ms, and at server 0 slow.
func picks(t *testing.T, kind, knobs string, of, n int, slow time.Duration) []uint64 {
	t.Helper()
	l := servers("front", of, 1000, 10*ms)
	l.Balancer = balancer(kind, knobs)
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
	if slow > 0 {
		o.Inject(0, 0, 0, &slowdown{float64(slow) / float64(10*ms)})
	}
	for i := range n {
		o.send(time.Duration(i)*ms, 10*ms, 0)
	}
	o.drain()
	o.check(t)
	var got []uint64
	for _, s := range o.Report().Layers[0].Servers {
		got = append(got, s.Requests)
	}
	return got
}

func TestBalancersAreEven(t *testing.T) {
	for _, kind := range fleet.Registry.Names() {
		got := picks(t, kind, "", 4, 4000, 0)
		low, high := slices.Min(got), slices.Max(got)
		switch kind {
		case "random": // four standard deviations, sqrt(4000/4 · 3/4) each
			if low < 890 || high > 1110 {
				t.Errorf("%s: %v of 4,000 requests", kind, got)
			}
		case "two_choices":
			if low < 950 || high > 1050 {
				t.Errorf("%s: %v of 4,000 requests", kind, got)
			}
		default:
			if low < 999 || high > 1001 {
				t.Errorf("%s: %v of 4,000 requests, want 1,000 each", kind, got)
			}
		}
	}
}

// One of four servers takes ten times as long. Who knows what is open, or how
// long answers take, sends it a tenth of what the others get.
func TestBalancersAvoidWhoIsSlow(t *testing.T) {
	for kind, most := range map[string]float64{
		"round_robin": 0.251, "random": 0.28, "least_outstanding": 0.06, "two_choices": 0.13, "fastest": 0.04,
	} {
		got := picks(t, kind, "", 4, 4000, 100*ms)
		share := float64(got[0]) / 4000
		t.Logf("%s: %v", kind, got)
		if share > most || share == 0 {
			t.Errorf("%s: %.3f of the requests to the slow server, want some, up to %v", kind, share, most)
		}
	}
}

// The knobs of every balancer are documented, work as they are, and are refused
// when they are out of range.
func TestBalancerKnobs(t *testing.T) {
	for _, info := range fleet.Registry.All() {
		if info.Doc == "" || strings.HasSuffix(info.Doc, ".") {
			t.Errorf("%s: doc %q", info.Name, info.Doc)
		}
		if info.Knobs == nil {
			continue
		}
		for _, k := range plugin.KnobDocs(info.Knobs()) {
			if k.Doc == "" {
				t.Errorf("%s.%s has no doc", info.Name, k.Name)
			}
		}
		_, err := balancer(info.Name, "{rejections: ignore, decay: -1s}")(stream(1, "x"))
		if errs := plugin.KnobErrors(err); len(errs) != 2 || errs[0].Knob != "rejections" || errs[1].Knob != "decay" {
			t.Errorf("%s: %v, want what is wrong with rejections and decay", info.Name, err)
		}
	}
}

// A server whose requests failed is not forgotten: when it is well again, its
// share comes back.
func TestFailuresAreForgotten(t *testing.T) {
	for _, kind := range []string{"least_outstanding", "two_choices", "fastest"} {
		well := false
		l := servers("front", 2, 1000, 10*ms)
		healthy := l.Server
		l.Server = healthyUnless(healthy, 1, &well)
		l.Balancer = balancer(kind, "rejections: failure")
		o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
		o.load(0, 5*time.Second, 1000, 10*ms, 0)
		ill := o.Report().Layers[0].Servers[1].Requests
		well = true
		o.load(5*time.Second, 15*time.Second, 1000, 10*ms, 0)
		before := o.Report().Layers[0].Servers[1].Requests
		o.load(15*time.Second, 20*time.Second, 1000, 10*ms, 0)
		o.drain()
		share := float64(o.Report().Layers[0].Servers[1].Requests-before) / 5000
		if ill > 300 || math.Abs(share-0.5) > 0.05 {
			t.Errorf("%s: %d of 5,000 requests while it refuses, want few; a share of %.2f later, want half", kind, ill, share)
		}
	}
}
