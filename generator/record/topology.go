package record

// A Topology is what several servers counted.
type Topology struct {
	Pools  *Pools  `json:"pools,omitempty"`
	Layers []Layer `json:"layers"` // the front first
}

// Pools are the connections of the callers, before the first balancer.
type Pools struct {
	Connections int    `json:"connections"`  // of all instances
	PeakOpen    int    `json:"peak_open"`    // most that were in use at once
	PeakWaiting int    `json:"peak_waiting"` // most requests that waited for one at once
	Waited      uint64 `json:"waited"`       // requests that found none free
	Full        uint64 `json:"full"`         // of these, refused because too many waited
	TimedOut    uint64 `json:"timed_out"`    // of these, refused because none came free in time
}

// A Layer is what became of the requests to servers of one kind, as their balancer
// saw it: Attempts = Served + Rejected + Failed + GaveUp, and those that are open.
type Layer struct {
	Name         string   `json:"name"`
	Requests     uint64   `json:"requests"` // first attempts
	Attempts     uint64   `json:"attempts"`
	Served       uint64   `json:"served"`
	Rejected     uint64   `json:"rejected"`
	Failed       uint64   `json:"failed"`
	GaveUp       uint64   `json:"gave_up"`       // nobody waited for the answer any more: a timeout, a crash in the layer above, or a reset
	Unwanted     uint64   `json:"unwanted"`      // of these, served in the end, in vain
	NoServer     uint64   `json:"no_server"`     // of Rejected, because no server was in service
	LeastServers int      `json:"least_servers"` // fewest servers that were in service at once
	Servers      []Server `json:"servers"`
}

// A Server is what one server of a layer counted. Health checks are among its
// requests.
type Server struct {
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
