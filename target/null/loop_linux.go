package null

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// A loop serves all connections on one thread.
type loop struct {
	epoll  int
	listen int
	stop   int         // an eventfd that is readable once the loop is to end
	conns  []*loopConn // by descriptor
	in     []byte      // what was read last
	out    []byte      // what is to be sent
	wait   int         // for epoll_wait: -1, or 0 to be busy
	answer *answer
	log    *arrivals
}

// A loopConn is one connection.
type loopConn struct {
	exchange
	unsent []byte // what the socket did not take yet; nothing is read meanwhile
	over   bool   // once unsent is sent
}

// mostEvents is how many sockets are looked at between two waits.
const mostEvents = 256

// serveLoop answers on one thread that waits for all sockets, until ctx is done.
func serveLoop(ctx context.Context, server *Server) error {
	s, err := newLoop(server)
	if err != nil {
		return err
	}
	defer s.close()
	done := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		defer close(done)
		_, _ = unix.Write(s.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	})
	defer func() { // the eventfd must be there for as long as it may be written to
		if !stopped() {
			<-done
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return s.run()
}

// newLoop listens on the socket of the server.
func newLoop(server *Server) (s *loop, err error) {
	s = &loop{epoll: -1, listen: -1, stop: -1, in: make([]byte, readSize), wait: -1, answer: &server.answer, log: &server.log}
	if server.busy {
		s.wait = 0
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	raw, err := server.listener.SyscallConn()
	if err != nil {
		return nil, err
	}
	if cerr := raw.Control(func(fd uintptr) { s.listen, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); cerr != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, fmt.Errorf("dup: %w", err)
	}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create: %w", err)
	}
	if s.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	for _, fd := range []int{s.listen, s.stop} {
		if err = s.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *loop) watch(op, fd int, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: int32(fd)}
	if err := unix.EpollCtl(s.epoll, op, fd, &e); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// run serves until stop is readable.
func (s *loop) run() error {
	events := make([]unix.EpollEvent, mostEvents)
	for {
		n, err := unix.EpollWait(s.epoll, events, s.wait)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, e := range events[:n] {
			switch fd := int(e.Fd); fd {
			case s.stop:
				return nil
			case s.listen:
				if err := s.accept(); err != nil {
					return err
				}
			default:
				s.serve(fd)
			}
		}
	}
}

// accept takes the connections that wait. It returns an error when it never
// will again, or when there are no descriptors left: a server that takes no
// connections measures nothing.
func (s *loop) accept() error {
	for {
		fd, _, err := unix.Accept4(s.listen, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EAGAIN:
			return nil
		case unix.EINTR, unix.ECONNABORTED:
			continue
		default:
			return fmt.Errorf("accept: %w", err)
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		for len(s.conns) <= fd {
			s.conns = append(s.conns, nil)
		}
		s.conns[fd] = &loopConn{exchange: exchange{answer: s.answer}}
		if err := s.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
}

// serve goes on with the connection of a socket that is ready.
func (s *loop) serve(fd int) {
	c := s.conns[fd]
	if c == nil {
		return // it was hung up on
	}
	if len(c.unsent) > 0 {
		s.resume(fd, c)
		return
	}
	n, err := unix.Read(fd, s.in)
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil || n == 0 {
		s.drop(fd)
		return
	}
	out, heads, over := c.take(s.in[:n], s.out[:0])
	s.out = out
	if heads > 0 {
		s.log.add(heads)
	}
	if len(out) > 0 {
		sent, ok := send(fd, out)
		if !ok {
			s.drop(fd)
			return
		}
		if sent < len(out) {
			c.unsent, c.over = append(c.unsent, out[sent:]...), over
			s.rewatch(fd, unix.EPOLLOUT)
			return
		}
	}
	if over {
		s.drop(fd)
	}
}

// resume sends what the socket did not take before.
func (s *loop) resume(fd int, c *loopConn) {
	sent, ok := send(fd, c.unsent)
	if !ok {
		s.drop(fd)
		return
	}
	if c.unsent = c.unsent[:copy(c.unsent, c.unsent[sent:])]; len(c.unsent) > 0 {
		return
	}
	if c.over {
		s.drop(fd)
		return
	}
	s.rewatch(fd, unix.EPOLLIN)
}

// send returns how much of out the socket took, and whether the connection is
// still there.
func send(fd int, out []byte) (sent int, ok bool) {
	n, err := unix.Write(fd, out)
	if err == unix.EAGAIN || err == unix.EINTR {
		return 0, true
	}
	return n, err == nil
}

func (s *loop) rewatch(fd int, events uint32) {
	if s.watch(unix.EPOLL_CTL_MOD, fd, events) != nil {
		s.drop(fd)
	}
}

func (s *loop) drop(fd int) {
	s.conns[fd] = nil
	_ = unix.Close(fd)
}

// close hangs up on everybody.
func (s *loop) close() {
	for fd, c := range s.conns {
		if c != nil {
			s.drop(fd)
		}
	}
	for _, fd := range []int{s.listen, s.stop, s.epoll} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
