//go:build unix

package live

import (
	"net"
	"syscall"
)

// peeker returns a function that reports whether nothing has come over c that is
// still to be read, not even its end; nil when c cannot tell.
func peeker(c net.Conn) func() bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	var b [1]byte
	var waits bool
	look := func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		waits = err != syscall.EAGAIN
	}
	return func() bool { return raw.Control(look) == nil && !waits }
}
