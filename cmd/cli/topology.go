package cli

import (
	"knee/analysis"
	"knee/target/fleet"
)

// topologyOf returns what a fleet counted as a part of a result.
func topologyOf(r fleet.Report) *analysis.Topology {
	t := &analysis.Topology{}
	if r.Pools != nil {
		pools := analysis.Pools(*r.Pools)
		t.Pools = &pools
	}
	for _, l := range r.Layers {
		layer := analysis.Layer{
			Name: l.Name, Requests: l.Requests, Attempts: l.Attempts, Served: l.Served, Rejected: l.Rejected, Failed: l.Failed,
			GaveUp: l.GaveUp, Unwanted: l.Unwanted, NoServer: l.NoServer, LeastServers: l.LeastServers,
		}
		for _, s := range l.Servers {
			layer.Servers = append(layer.Servers, analysis.Server(s))
		}
		t.Layers = append(t.Layers, layer)
	}
	return t
}
