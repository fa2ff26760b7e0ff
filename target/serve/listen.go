package serve

import (
	"context"
	"io"
	"log"
	"net"
	"time"
)

// silent is where net/http reports broken connections: they are the caller's to
// count, and thousands of lines a second would change what is measured.
var silent = log.New(io.Discard, "", 0)

// flushFor is how long a server that closes takes to tell the last callers.
const flushFor = time.Second

// frontend accepts connections at one of the stages.
type frontend interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// Serve accepts callers from ln until ctx is done, and closes the server then:
// it accepts no more, lets the requests inside go on for at most grace, and
// refuses what is left. It returns an error only when ln fails.
func (s *Server) Serve(ctx context.Context, ln net.Listener, grace time.Duration) error {
	var f frontend = newLoop(s)
	if s.cfg.ShedAt == Handler || s.cfg.ShedAt == Late {
		f = s.newHTTPServer()
	}
	failed := make(chan error, 1)
	go func() { failed <- f.Serve(ln) }()
	select {
	case err := <-failed:
		f.Close()
		s.Close()
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := f.Shutdown(wait)
	s.Close()
	if err != nil {
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
		defer cancel()
		f.Shutdown(flush) // those just refused are told so
		f.Close()
	}
	<-failed
	return nil
}
