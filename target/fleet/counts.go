package fleet

import (
	"knee/target/protection"
	"knee/target/server"
)

// A Report is what a fleet counted since New.
type Report struct {
	Pools  *PoolReport   `json:"pools,omitempty"`
	Layers []LayerReport `json:"layers"` // the front first
}

// A PoolReport is what happened before the first balancer.
type PoolReport struct {
	Connections int    `json:"connections"`  // of all instances
	PeakOpen    int    `json:"peak_open"`    // most that were in use at once
	PeakWaiting int    `json:"peak_waiting"` // most requests that waited for one at once
	Waited      uint64 `json:"waited"`       // requests that found none free
	Full        uint64 `json:"full"`         // of these, refused because too many waited
	TimedOut    uint64 `json:"timed_out"`    // of these, refused because none came free in time
}

// A LayerReport is what became of the requests to a layer, as its balancer saw
// it: Attempts = Served + Rejected + Failed + GaveUp, and those that are open.
type LayerReport struct {
	Name         string         `json:"name"`
	Requests     uint64         `json:"requests"` // first attempts
	Attempts     uint64         `json:"attempts"`
	Served       uint64         `json:"served"`
	Rejected     uint64         `json:"rejected"`
	Failed       uint64         `json:"failed"`
	GaveUp       uint64         `json:"gave_up"`       // nobody waited for the answer any more: a timeout, a crash in the layer above, or a reset
	Unwanted     uint64         `json:"unwanted"`      // of these, served in the end, in vain
	NoServer     uint64         `json:"no_server"`     // of Rejected, because no server was in service
	LeastServers int            `json:"least_servers"` // fewest servers that were in service at once
	Servers      []ServerReport `json:"servers"`
}

// A ServerReport is what one server counted. Health checks are among its
// requests.
type ServerReport struct {
	Requests     uint64 `json:"requests"`
	Served       uint64 `json:"served"`
	Rejected     uint64 `json:"rejected"` // refused at arrival or dropped from the queue
	Failed       uint64 `json:"failed"`
	Lost         uint64 `json:"lost"`   // inside when it crashed; of those that it had handed on to the next layer, some are among Served
	Resets       uint64 `json:"resets"` // inside when it was reset
	Peak         int    `json:"peak"`   // most requests that waited at once
	Crashes      uint64 `json:"crashes"`
	Ejections    uint64 `json:"ejections"`
	Checks       uint64 `json:"checks"`        // health checks
	FailedChecks uint64 `json:"failed_checks"` // of these, rejected or not answered in time
	InService    bool   `json:"in_service"`    // in the end
}

// Report returns the counts so far.
func (f *Fleet) Report() Report {
	var r Report
	if f.pools != nil {
		p := f.pools.counts
		r.Pools = &PoolReport{
			Connections: f.pools.spec.Instances * f.pools.spec.Connections,
			PeakOpen:    p.peakOpen, PeakWaiting: p.peakWaiting, Waited: p.waited, Full: p.full, TimedOut: p.timedOut,
		}
	}
	for _, l := range f.layers {
		r.Layers = append(r.Layers, l.report())
	}
	return r
}

func (l *layer) report() LayerReport {
	c := l.counts
	r := LayerReport{
		Name: l.Name, Requests: c.requests, Attempts: c.attempts,
		Served: c.served, Rejected: c.rejected, Failed: c.failed, GaveUp: c.gaveUp,
		Unwanted: c.unwanted, NoServer: c.noServer, LeastServers: c.least,
	}
	for _, n := range l.nodes {
		r.Servers = append(r.Servers, n.report())
	}
	return r
}

func (n *node) report() ServerReport {
	own := n.core.Counts()
	crashed := own.FailedBy[string(server.ReasonCrash)]
	r := ServerReport{
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

// layerCounts are the counts of a layer; see LayerReport.
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
