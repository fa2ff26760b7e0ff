package live

import (
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// connect begins to connect to end and returns the socket.
func connect(end endpoint) (fd int, err error) {
	family, to := sockaddr(end.addr)
	if end.network == "unix" {
		family, to = unix.AF_UNIX, &unix.SockaddrUnix{Name: end.path}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	if family != unix.AF_UNIX {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return -1, err
		}
	}
	if end.local.IsValid() {
		_, from := sockaddr(netip.AddrPortFrom(end.local, 0))
		// The port is chosen as the socket connects, so that it needs to be free only
		// towards this server.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
		if err := unix.Bind(fd, from); err != nil {
			return -1, err
		}
	}
	if err := unix.Connect(fd, to); err != nil && err != unix.EINPROGRESS {
		return -1, err
	}
	return fd, nil
}

// sockaddr returns a as the kernel takes it.
func sockaddr(a netip.AddrPort) (family int, to unix.Sockaddr) {
	if addr := a.Addr().Unmap(); addr.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: addr.As4()}
	}
	zone, _ := strconv.ParseUint(a.Addr().Zone(), 10, 32)
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: uint32(zone)}
}
