package fleet_test

import (
	"math"
	"testing"
	"time"

	"knee/target/fleet"
	"knee/target/server"
)

// twoServers are a healthy server, 100ms a request, and beside it one that
// refuses everything within 1ms.
func twoServers(kind, knobs string) fleet.Layer {
	l := servers("front", 2, 1000, 100*ms)
	healthy := l.Server
	l.Server = func(i int) server.Spec {
		s := healthy(i)
		if i == 1 {
			s.Chain = []server.Link{no()}
		}
		return s
	}
	l.RejectTime = ms
	l.Balancer = balancer(kind, knobs)
	return l
}

// share sends requests so that always as many are open, for so long, and
// returns the share of the server that refuses.
func share(t *testing.T, l fleet.Layer, open int, span time.Duration) float64 {
	t.Helper()
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{l}})
	o.then = func(e end) {
		if e.at < span {
			o.send(e.at, 100*ms, 0)
		}
	}
	for range open {
		o.send(0, 100*ms, 0)
	}
	o.drain()
	o.check(t)
	s := o.Report().Layers[0].Servers
	return float64(s[1].Requests) / float64(s[0].Requests+s[1].Requests)
}

// Who answers in a hundredth of the time gets a hundred times the requests, when
// as many are open at both: 1/1 / (1/1 + 1/100) = 99.01%.
func TestRefusalsAttractTraffic(t *testing.T) {
	for _, c := range []struct {
		kind, knobs string
		low, high   float64
	}{
		{"round_robin", "", 0.499, 0.501},
		{"least_outstanding", "", 0.9900, 0.9902},
		{"least_outstanding", "rejections: failure", 0, 0.06},
		{"fastest", "", 0.99, 1},
		{"fastest", "rejections: failure", 0, 0.06},
		{"two_choices", "rejections: failure", 0, 0.06},
	} {
		got := share(t, twoServers(c.kind, c.knobs), 20, 5*time.Second)
		t.Logf("%s {%s}: %.4f of the requests to the server that refuses", c.kind, c.knobs, got)
		if got < c.low || got > c.high {
			t.Errorf("%s {%s}: %.4f of the requests go to the server that refuses, want %v to %v", c.kind, c.knobs, got, c.low, c.high)
		}
	}
}

func TestClosedLimitOfLeastOutstanding(t *testing.T) {
	got := share(t, twoServers("least_outstanding", ""), 2, 100*time.Second)
	if want := 1 / (1 + 1.0/100); math.Abs(got-want) > 0.0001 {
		t.Errorf("share %.5f, want %.5f", got, want)
	}
}
