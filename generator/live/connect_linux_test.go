package live

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A call can be given up while it waits for a connection.
func TestConnectionThatDoesNotOpen(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		r := trip{
			url: "http://" + fullListener(t), rate: 100, length: 100 * time.Millisecond, timeout: 100 * time.Millisecond,
			options: Options{Engine: engine},
		}.run(t)
		if r.tally.Timeout != 10 {
			t.Errorf("timeout %d, failed by %v: want 10", r.tally.Timeout, r.tally.FailedBy)
		}
		r = trip{
			url: "http://" + fullListener(t), rate: 100, length: 100 * time.Millisecond,
			options: Options{Engine: engine, HTTP: HTTP{ConnectTimeout: 50 * time.Millisecond}},
		}.run(t)
		if r.tally.FailedBy[ConnectTimeout] != 10 {
			t.Errorf("failed by %v: want 10 %s", r.tally.FailedBy, ConnectTimeout)
		}
	})
}

// fullListener returns an address of this machine at which connections are not
// taken any more: its queue is full.
func fullListener(t *testing.T) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port)).String()
	for range 2 { // the queue has room for one more than it says
		c, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
	}
	return address
}
