//go:build !linux

package live

import "syscall"

// portLater does nothing: the local port is chosen before a socket connects.
func portLater(_, _ string, _ syscall.RawConn) error { return nil }
