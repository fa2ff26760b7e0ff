package null

import (
	"context"
	"net"
	"sync"
)

// readSize is how much is read from a socket at once.
const readSize = 64 << 10

// serveConns answers with a goroutine for each connection, until ctx is done.
func serveConns(ctx context.Context, s *Server) error {
	ctx, cancel := context.WithCancel(ctx)
	var (
		mu   sync.Mutex // of the arrivals
		open sync.WaitGroup
	)
	defer open.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.listener.Close() })()
	for {
		c, err := s.listener.AcceptTCP()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		open.Go(func() {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			converse(c, &s.answer, func(n int) {
				mu.Lock()
				defer mu.Unlock()
				s.log.add(n)
			})
		})
	}
}

// converse answers what comes on c until either side hangs up.
func converse(c net.Conn, a *answer, arrived func(n int)) {
	x := exchange{answer: a}
	in, out := make([]byte, readSize), []byte(nil)
	for {
		n, err := c.Read(in)
		if err != nil {
			return
		}
		answers, heads, over := x.take(in[:n], out[:0])
		out = answers
		if heads > 0 {
			arrived(heads)
		}
		if len(answers) > 0 {
			if _, err := c.Write(answers); err != nil {
				return
			}
		}
		if over {
			return
		}
	}
}
