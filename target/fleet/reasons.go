package fleet

import "knee/target/protection"

// Why the fleet itself refuses a request, beside the reasons of its servers.
const (
	ReasonNoServer    protection.Reason = "no_server"    // no server of the layer was in service
	ReasonPoolFull    protection.Reason = "pool_full"    // too many waited for a connection
	ReasonPoolTimeout protection.Reason = "pool_timeout" // no connection came free in time
)

// Kinds of failure that a fleet adds to those of its servers.
const (
	KindTimeout  protection.Reason = "upstream_timeout"  // the last attempt at the next layer was not answered in time
	KindDeadline protection.Reason = "upstream_deadline" // nothing was left of the deadline for an attempt at the next layer
)
