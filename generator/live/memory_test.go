package live

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
)

// A memoryServer takes connections without a network, so that a run against it
// can follow a fake clock.
type memoryServer struct {
	talk    func(net.Conn)
	mu      sync.Mutex
	opened  int
	running sync.WaitGroup
}

// dial is an HTTP.Dial that connects to s.
func (s *memoryServer) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.mu.Lock()
	s.opened++
	s.mu.Unlock()
	s.running.Go(func() {
		defer server.Close()
		s.talk(server)
	})
	return client, nil
}

// keepAnswering returns a talk that calls answer for each request until it says
// that the connection is over.
func keepAnswering(answer func(c net.Conn) (more bool)) func(net.Conn) {
	return func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			if _, ok := readRequest(in); !ok || !answer(c) {
				return
			}
		}
	}
}

const ok200 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func write(w io.Writer, text string) { _, _ = io.WriteString(w, text) }
