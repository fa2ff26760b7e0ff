package order

import "slices"

// planned are the orders that a profile may name one day.
var planned = []string{"adaptive_lifo", "priority", "fair"}

// NotBuilt reports whether name is an order that knee knows of but does not
// have yet, so that a profile can be told so instead of "unknown".
func NotBuilt(name string) bool { return slices.Contains(planned, name) }
