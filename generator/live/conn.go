package live

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A conn is one connection to the server.
type conn struct {
	http    *http.ClientConn
	socket  *socket
	connect time.Duration // how long it took to open it
	used    bool          // it has carried a request
	rested  bool          // it has been idle since; the pool's own
}

// usable reports whether the connection can carry another request: it has been
// answered completely, and nobody has closed it since.
func (c *conn) usable() bool { return c.http.Available() > 0 }

// A socket watches a network connection, because what it has seen says more of a
// failure than the error that net/http makes of it.
type socket struct {
	net.Conn
	in, out atomic.Int64 // bytes
	fault   atomic.Pointer[error]
	once    sync.Once
	closed  func()
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.in.Add(int64(n))
	s.note(err)
	return n, err
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	s.out.Add(int64(n))
	s.note(err)
	return n, err
}

func (s *socket) Close() error {
	s.once.Do(s.closed)
	return s.Conn.Close()
}

// note keeps the first sign that the other side is gone.
func (s *socket) note(err error) {
	if err != nil && (isEnd(err) || isReset(err)) {
		s.fault.CompareAndSwap(nil, &err)
	}
}

// gone returns how the other side ended the connection, nil when it did not.
func (s *socket) gone() error {
	if e := s.fault.Load(); e != nil {
		return *e
	}
	return nil
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) }

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}
