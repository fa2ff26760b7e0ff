package protection

import "slices"

// planned are the protections that a profile may name one day.
var planned []string

// NotBuilt reports whether name is a protection that knee knows of but does not
// have yet, so that a profile can be told so instead of "unknown".
func NotBuilt(name string) bool { return slices.Contains(planned, name) }
