package protection

// The reasons that the protections of this package give. A reason is a key of
// counters and travels to the caller: these names do not change.
const (
	ReasonQueueFull   Reason = "queue_full"   // queue_bound: as many requests wait as may
	ReasonQueueWait   Reason = "queue_wait"   // queue_bound: the wait would be longer than allowed
	ReasonQueueCost   Reason = "queue_cost"   // queue_bound: more cost would wait than may
	ReasonQueueAge    Reason = "queue_age"    // queue_bound: it waited as long as it may
	ReasonQueueBytes  Reason = "queue_bytes"  // queue_bound: more bytes would wait than may
	ReasonTenantQueue Reason = "tenant_queue" // queue_bound: as many requests of its tenant wait as may
	ReasonCodel       Reason = "codel"        // codel: the queue it stood in is a standing one
	ReasonTenantRate  Reason = "tenant_rate"  // rate: the token bucket of its tenant is empty
	ReasonRandom      Reason = "random"       // random: it drew the lot
	ReasonRED         Reason = "red"          // red: it drew the lot, or the average queue is too long
	ReasonPID         Reason = "pid"          // pid: it drew the lot
	ReasonExpired     Reason = "expired"      // deadline: too little time is left to serve it
	ReasonHopeless    Reason = "hopeless"     // deadline, at admission: too little time would be left after the wait ahead
	ReasonLimit       Reason = "limit"        // limit: as many requests are in flight as may be
	ReasonRate        Reason = "rate"         // rate: the token bucket is empty
)
