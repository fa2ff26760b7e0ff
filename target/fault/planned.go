package fault

import "slices"

// planned are the faults that a profile may name one day.
var planned = []string{
	"slow_service", "lose_workers", "stall", "pause", "error_share", "crash_restart", "slow_reject",
	"contention", "dependency_stall", "expensive_burst",
}

// NotBuilt reports whether name is a fault that knee knows of but does not have
// yet, so that a profile can be told so instead of "unknown".
func NotBuilt(name string) bool { return slices.Contains(planned, name) }
