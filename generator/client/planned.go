package client

import "slices"

// planned are the behaviours that a profile may name one day.
var planned = []string{"retry", "retry_budget", "throttle", "hedge", "breaker", "window", "blocking"}

// NotBuilt reports whether name is a client behaviour that knee knows of but
// does not have yet, so that a profile can be told so instead of "unknown".
func NotBuilt(name string) bool { return slices.Contains(planned, name) }
