package fleet_test

import (
	"testing"
	"time"

	"knee/generator/record"
	"knee/target/fleet"
)

// pooled offers 1,500/s to a server of 1,000/s for ten seconds, through pools.
func pooled(t *testing.T, p fleet.Pools) (server, client int, r record.Topology) {
	t.Helper()
	o := newRun(t, fleet.Spec{Layers: []fleet.Layer{servers("front", 1, 10, 10*ms)}, Pools: p})
	o.load(0, 10*time.Second, 1500, 10*ms, 0)
	r = o.Report()
	server = int(r.Layers[0].Attempts - r.Layers[0].Served) // inside at the end
	if r.Pools != nil {
		client = r.Pools.PeakWaiting
	}
	o.drain()
	o.check(t)
	return server, client, r
}

// 100 instances with 50 connections each are 5,000 connections: that many
// requests can be inside the server at once. With one connection each there are
// 100, and the others wait at the callers, where no protection sees them. The
// queue is as long, in another place.
func TestPoolsMoveTheQueue(t *testing.T) {
	for _, c := range []struct {
		name           string
		pools          fleet.Pools
		server, client int
	}{
		{"no pools", fleet.Pools{}, 5010, 0},
		{"100 x 50", fleet.Pools{Instances: 100, Connections: 50}, 5000, 10},
		{"100 x 10", fleet.Pools{Instances: 100, Connections: 10}, 1000, 4010},
		{"100 x 1", fleet.Pools{Instances: 100, Connections: 1}, 100, 4910},
	} {
		server, client, r := pooled(t, c.pools)
		t.Logf("%s: %d inside the server, %d wait at the callers", c.name, server, client)
		if near := func(got, want int) bool { return got >= want-12 && got <= want+12 }; !near(server, c.server) || !near(client, c.client) {
			t.Errorf("%s: %d inside the server, %d wait at the callers; want about %d and %d", c.name, server, client, c.server, c.client)
		}
		if c.pools.Instances > 0 && r.Pools.PeakOpen > c.pools.Instances*c.pools.Connections {
			t.Errorf("%s: %d connections were open", c.name, r.Pools.PeakOpen)
		}
	}
}

// Who waits for a connection does so until its deadline, or for as long as the
// pool allows, and not at all when too many do.
func TestPoolsRefuse(t *testing.T) {
	refused := func(p fleet.Pools, deadline time.Duration) map[string]uint64 {
		p.Instances, p.Connections = 1, 1
		o := newRun(t, fleet.Spec{Layers: []fleet.Layer{servers("front", 1, 1, 10*ms)}, Pools: p})
		o.send(0, 10*ms, deadline)
		o.send(1*ms, 10*ms, deadline)
		o.send(2*ms, 10*ms, deadline)
		o.send(3*ms, 10*ms, deadline)
		o.drain()
		o.check(t)
		return o.Counts().Refused
	}
	for name, c := range map[string]struct {
		pools    fleet.Pools
		deadline time.Duration
		reason   string
		want     uint64
	}{
		"in time":         {fleet.Pools{}, 0, "pool_timeout", 0},
		"deadline":        {fleet.Pools{}, 25 * ms, "pool_timeout", 1},       // starts would be at 0, 10, 20 and 30ms
		"wait":            {fleet.Pools{Wait: 9 * ms}, 0, "pool_timeout", 2}, // the second starts at 10ms, after 9
		"room for one":    {fleet.Pools{Queue: 1}, 0, "pool_full", 2},
		"room for two":    {fleet.Pools{Queue: 2}, 0, "pool_full", 1},
		"no room at once": {fleet.Pools{Queue: 1, Wait: ms}, 0, "pool_full", 0},
	} {
		if got := refused(c.pools, c.deadline)[c.reason]; got != c.want {
			t.Errorf("%s: %d refused as %s, want %d", name, got, c.reason, c.want)
		}
	}
}
