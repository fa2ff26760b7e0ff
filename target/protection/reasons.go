package protection

// The reasons that the protections of this package give. A reason is a key of
// counters and travels to the caller: these names do not change.
const (
	ReasonQueueFull Reason = "queue_full" // queue_bound: as many requests wait as may
	ReasonQueueWait Reason = "queue_wait" // queue_bound: the wait would be longer than allowed
	ReasonQueueCost Reason = "queue_cost" // queue_bound: more cost would wait than may
	ReasonQueueAge  Reason = "queue_age"  // queue_bound: it waited as long as it may
	ReasonExpired   Reason = "expired"    // deadline: too little time is left to serve it
	ReasonHopeless  Reason = "hopeless"   // deadline, at admission: too little time would be left after the wait ahead
	ReasonLimit     Reason = "limit"      // limit: as many requests are in flight as may be
	ReasonRate      Reason = "rate"       // rate: the token bucket is empty
)
