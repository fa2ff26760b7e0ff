//go:build !linux

package host

// Quota returns 0: there are no control groups here.
func Quota() float64 { return 0 }
