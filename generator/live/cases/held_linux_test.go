package cases

import (
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// connectionsTo returns how many connections to a server this process has not
// closed, whatever it has counted.
func connectionsTo(url string) (n int) {
	at := netip.MustParseAddrPort(strings.TrimPrefix(url, "http://"))
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		peer, err := unix.Getpeername(fd)
		if err != nil {
			continue // no socket, or closed in the meantime
		}
		if to, ok := peer.(*unix.SockaddrInet4); ok && netip.AddrPortFrom(netip.AddrFrom4(to.Addr), uint16(to.Port)) == at {
			n++
		}
	}
	return n
}
