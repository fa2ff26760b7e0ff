package live

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// portLater has the local port chosen as a socket connects, so that it needs to
// be free only towards this server.
func portLater(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
}
