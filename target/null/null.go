// Package null is a server that does nothing: it answers every request with the same small 200, as fast as one thread can.
//
// What limits a run against it is the generator and the machine, which is what
// `knee doctor` and the benchmark kit measure. It reads no more of a request
// than it takes to find its end, so it is no server to judge a client by.
package null

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Options describe a Server.
type Options struct {
	Body []byte // of every answer; nil: "ok"
	// Arrivals is how many instants at which a request came are kept; default 0.
	// Further ones are counted only. Each takes eight bytes from the start on.
	Arrivals int
	// Portable serves with a goroutine for each connection on every platform. The
	// default is one thread that waits for all sockets, where the platform has that.
	Portable bool
	// Busy has the one thread look for requests all the time, not wait for them. It
	// takes a whole CPU, and sees requests earlier: one that sleeps has to be woken,
	// which also costs its caller, who would not notice with a server at work. It
	// has no effect where a goroutine serves each connection.
	Busy bool
}

// A Server answers on one listener.
type Server struct {
	listener *net.TCPListener
	portable bool
	busy     bool
	answer   answer
	log      arrivals
}

// New returns a server on l, which must be of TCP; Serve closes it.
func New(l net.Listener, o Options) (*Server, error) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("null: a listener on %s: want one of TCP", l.Addr().Network())
	}
	if o.Arrivals < 0 {
		return nil, fmt.Errorf("null: %d arrivals: want at least 0", o.Arrivals)
	}
	if o.Body == nil {
		o.Body = []byte("ok")
	}
	return &Server{listener: tcp, portable: o.Portable, busy: o.Busy, answer: newAnswer(o.Body), log: newArrivals(o.Arrivals, time.Now())}, nil
}

// Serve answers until ctx is done and hangs up on everybody. It returns nil
// then, and otherwise why it could not go on. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	defer s.listener.Close()
	serve := serveLoop
	if s.portable {
		serve = serveConns
	}
	if err := serve(ctx, s); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("null: %w", err)
	}
	return nil
}

// Requests returns how many requests came. It is called after Serve.
func (s *Server) Requests() uint64 { return s.log.count }

// Arrivals returns the instants at which the first of the requests came, in
// order: when the end of their head had been read. They are nanoseconds of the
// system's monotonic clock where it can be read (Linux: CLOCK_MONOTONIC, the
// same for all processes), else since New. It is called after Serve.
func (s *Server) Arrivals() []int64 { return s.log.at }
