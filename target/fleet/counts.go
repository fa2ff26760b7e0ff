package fleet

import (
	"knee/generator/record"
	"knee/target/protection"
	"knee/target/server"
)

// Report returns the counts so far.
func (f *Fleet) Report() record.Topology {
	var r record.Topology
	if f.pools != nil {
		p := f.pools.counts
		r.Pools = &record.Pools{
			Connections: f.pools.spec.Instances * f.pools.spec.Connections,
			PeakOpen:    p.peakOpen, PeakWaiting: p.peakWaiting, Waited: p.waited, Full: p.full, TimedOut: p.timedOut,
		}
	}
	for _, l := range f.layers {
		r.Layers = append(r.Layers, l.report())
	}
	return r
}

func (l *layer) report() record.Layer {
	c := l.counts
	r := record.Layer{
		Name: l.Name, Requests: c.requests, Attempts: c.attempts,
		Served: c.served, Rejected: c.rejected, Failed: c.failed, GaveUp: c.gaveUp,
		Unwanted: c.unwanted, NoServer: c.noServer, LeastServers: c.least,
	}
	for _, n := range l.nodes {
		r.Servers = append(r.Servers, n.report())
	}
	return r
}

func (n *node) report() record.Server {
	own := n.core.Counts()
	crashed := own.FailedBy[string(server.ReasonCrash)]
	r := record.Server{
		Requests: own.Arrived, Served: own.Served, Failed: own.Failed - crashed, Lost: crashed + n.counts.lost, Resets: own.Resets, Peak: own.Peak,
		Crashes: n.counts.crashes, Ejections: n.counts.ejections, Checks: n.counts.checks, FailedChecks: n.counts.failedChecks,
		InService: n.open() && !n.sick,
	}
	for _, by := range []map[string]uint64{own.Refused, own.Dropped} {
		for _, k := range by {
			r.Rejected += k
		}
	}
	return r
}

// layerCounts are the counts of a layer; see record.Layer.
type layerCounts struct {
	requests, attempts       uint64
	served, rejected, failed uint64
	gaveUp, unwanted         uint64
	noServer                 uint64
	least                    int
}

func (c *layerCounts) ended(a answer) {
	switch a.verdict {
	case served:
		c.served++
	case refused:
		c.rejected++
	case failed:
		c.failed++
	}
}

// nodeCounts are the counts of a server that its core does not keep.
type nodeCounts struct {
	lost                                     uint64 // what was handed on
	crashes, ejections, checks, failedChecks uint64
}

// poolCounts are the counts of the pools; see PoolReport.
type poolCounts struct {
	peakOpen, peakWaiting  int
	waited, full, timedOut uint64
}

// doorCounts count what became of the requests of the fleet's callers.
type doorCounts struct {
	arrived, served, degraded, failed, resets uint64
	refused                                   map[protection.Reason]uint64
}

func (d *doorCounts) ended(a answer) {
	switch a.verdict {
	case served:
		d.served++
		if a.Degraded {
			d.degraded++
		}
	case failed:
		d.failed++
	case refused:
		d.refused[a.Reason]++
	}
}

// Counts returns what became of the requests of the fleet's callers, as one
// server would count it.
func (f *Fleet) Counts() server.Counts {
	d := &f.door
	c := server.Counts{
		Arrived: d.arrived, Served: d.served, Degraded: d.degraded, Failed: d.failed, Resets: d.resets,
		Refused: map[string]uint64{}, Dropped: map[string]uint64{},
	}
	for reason, n := range d.refused {
		c.Refused[string(reason)] = n
	}
	for _, n := range f.layers[0].nodes {
		c.Peak = max(c.Peak, n.core.Counts().Peak)
	}
	return c
}
