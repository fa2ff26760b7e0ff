//go:build !unix

package live

import "net"

// peeker returns nil: here it cannot be told whether something waits to be read.
func peeker(net.Conn) func() bool { return nil }
