//go:build !linux

package host

import (
	"errors"
	"runtime"
)

// Allowed returns the CPUs on which this process may run: all of them.
func Allowed() (CPUs, error) {
	c := make(CPUs, runtime.NumCPU())
	for i := range c {
		c[i] = i
	}
	return c, nil
}

// errUnbound says that a platform has no way to bind threads to CPUs.
var errUnbound = errors.New("binding to CPUs is not known on " + runtime.GOOS)

// BindThread returns an error: threads cannot be bound here.
func BindThread(CPUs) error { return errUnbound }

// Bind returns an error: threads cannot be bound here.
func Bind(CPUs) error { return errUnbound }

// Cores returns each CPU alone: which of them share a core is not known.
func Cores(c CPUs) []CPUs { return alone(c) }
