package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func init() { parts["bare-loop"] = bareLoop }

// bareTool is what is left of a closed loop in Go without a load generator around
// it: this program, at self, started again for bareLoop. It is the line that
// others can come near to.
func bareTool(self string) (tool, bool) {
	return tool{
		name: bareName,
		path: self,
		closed: func(j job) (command, error) {
			return command{args: []string{
				"bare-loop", "-url", j.url, "-conns", number(float64(j.conns)), "-for", j.span.String(),
			}}, nil
		},
		parse: parseTally,
	}, true
}

// bareLoop sends the same bytes over connections that one thread waits for, and
// reads nothing of an answer but its length, which is that of the first one.
func bareLoop(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("bare-loop", flag.ExitOnError)
	target := f.String("url", "", "server")
	conns := f.Int("conns", 64, "connections")
	span := f.Duration("for", time.Second, "how long")
	if err := f.Parse(args); err != nil {
		return err
	}
	u, err := url.Parse(*target)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	l, err := newBare(ctx, u, *conns)
	if err != nil {
		return err
	}
	n, err := l.run(ctx, *span)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(tally{Requests: n})
}

// A bare is the state of a bareLoop.
type bare struct {
	epoll   int
	request []byte
	answer  int   // its length
	left    []int // by descriptor: bytes of the answer that are still to come
}

// newBare connects, and sends the first request on each connection.
func newBare(ctx context.Context, u *url.URL, conns int) (*bare, error) {
	l := &bare{request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", u.RequestURI(), u.Host)}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if l.answer, err = answerLength(ctx, u.Host, l.request); err != nil {
		return nil, err
	}
	addr, err := net.ResolveTCPAddr("tcp4", u.Host)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}
	for range conns {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		if err := unix.Connect(fd, to); err != nil {
			return nil, err
		}
		if err := errors.Join(unix.SetNonblock(fd, true), unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
			unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})); err != nil {
			return nil, err
		}
		for len(l.left) <= fd {
			l.left = append(l.left, 0)
		}
		if err := l.send(fd); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// answerLength returns how long an answer with two bytes of body is.
func answerLength(ctx context.Context, host string, request []byte) (int, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	var got []byte
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		got = append(got, buf[:n]...)
		if end := bytes.Index(got, []byte("\r\n\r\n")); end >= 0 && len(got) == end+4+2 {
			return len(got), nil
		}
		if err == io.EOF || len(got) > len(buf) {
			return 0, errors.New("bare loop: want an answer with a body of two bytes")
		}
		if err != nil {
			return 0, err
		}
	}
}

func (l *bare) send(fd int) error {
	l.left[fd] = l.answer
	if n, err := unix.Write(fd, l.request); err != nil || n < len(l.request) {
		return fmt.Errorf("bare loop: %d bytes of a request were sent: %w", n, err)
	}
	return nil
}

// run returns how many answers came.
func (l *bare) run(ctx context.Context, span time.Duration) (n uint64, err error) {
	events := make([]unix.EpollEvent, 256)
	in := make([]byte, 64<<10)
	for until := time.Now().Add(span); time.Now().Before(until) && ctx.Err() == nil; {
		ready, err := unix.EpollWait(l.epoll, events, 100)
		if err != nil && err != unix.EINTR {
			return n, err
		}
		for _, e := range events[:max(ready, 0)] {
			fd := int(e.Fd)
			got, err := unix.Read(fd, in)
			if err != nil || got == 0 {
				return n, fmt.Errorf("bare loop: the server hung up: %w", err)
			}
			if l.left[fd] -= got; l.left[fd] > 0 {
				continue
			}
			n++
			if err := l.send(fd); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
