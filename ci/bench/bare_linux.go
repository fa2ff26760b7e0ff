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

// bareTool is what is left of a load generator in Go without what makes it one:
// this program, at self, started again for bareLoop. It is the line that others
// can come near to: of requests per CPU second in a closed loop, and in an open
// one of punctuality, for which it burns its CPU.
func bareTool(self string) (tool, bool) {
	start := func(j job) (command, error) {
		return command{args: []string{
			"bare-loop", "-url", j.url, "-conns", number(float64(j.conns)), "-for", j.span.String(), "-rate", number(j.rate),
		}}, nil
	}
	return tool{name: bareName, path: self, closed: start, open: start, parse: parseTally}, true
}

// bareLoop sends the same bytes over connections that one thread waits for, and
// reads nothing of an answer but its length, which is that of the first one.
func bareLoop(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("bare-loop", flag.ExitOnError)
	target := f.String("url", "", "server")
	conns := f.Int("conns", 64, "connections")
	span := f.Duration("for", time.Second, "how long")
	rate := f.Float64("rate", 0, "requests per second; 0: a closed loop")
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
	if *rate > 0 {
		err = l.open(ctx, *span, *rate)
	} else {
		err = l.closed(ctx, *span)
	}
	if err != nil {
		return fmt.Errorf("bare loop: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(tally{Requests: l.answered})
}

// A bare is the state of a bareLoop.
type bare struct {
	epoll    int
	request  []byte
	answer   int // its length
	conns    int
	left     []int // by descriptor: bytes of the answer that are still to come
	idle     []int // descriptors with no request under way
	answered uint64
	events   []unix.EpollEvent
	in       []byte
}

// newBare opens the connections.
func newBare(ctx context.Context, u *url.URL, conns int) (*bare, error) {
	l := &bare{
		conns:   conns,
		request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", u.RequestURI(), u.Host),
		events:  make([]unix.EpollEvent, 256),
		in:      make([]byte, 64<<10),
	}
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
		l.idle = append(l.idle, fd)
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
			return 0, errors.New("want an answer with a body of two bytes")
		}
		if err != nil {
			return 0, err
		}
	}
}

// send sends a request on the connection that was used last of those that are
// idle.
func (l *bare) send() error {
	last := len(l.idle) - 1
	fd := l.idle[last]
	l.idle, l.left[fd] = l.idle[:last], l.answer
	if n, err := unix.Write(fd, l.request); err != nil || n < len(l.request) {
		return fmt.Errorf("%d bytes of a request were sent: %w", n, err)
	}
	return nil
}

// receive reads what has come on at most the given number of connections, after
// waiting for it for some milliseconds.
func (l *bare) receive(most, ms int) error {
	ready, err := unix.EpollWait(l.epoll, l.events[:most], ms)
	if err != nil && err != unix.EINTR {
		return err
	}
	for _, e := range l.events[:max(ready, 0)] {
		fd := int(e.Fd)
		got, err := unix.Read(fd, l.in)
		if err != nil || got == 0 {
			return fmt.Errorf("the server hung up: %w", err)
		}
		if l.left[fd] -= got; l.left[fd] <= 0 {
			l.answered++
			l.idle = append(l.idle, fd)
		}
	}
	return nil
}

// closed sends a request wherever one was answered.
func (l *bare) closed(ctx context.Context, span time.Duration) error {
	for until := time.Now().Add(span); time.Now().Before(until) && ctx.Err() == nil; {
		for len(l.idle) > 0 {
			if err := l.send(); err != nil {
				return err
			}
		}
		if err := l.receive(len(l.events), 100); err != nil {
			return err
		}
	}
	return nil
}

// reading is how long before the next request is due the last answer is read: it
// takes some microseconds.
const reading = 15 * time.Microsecond

// open sends requests at their instants, which it waits for by looking at the
// clock. One that finds no idle connection waits for that.
func (l *bare) open(ctx context.Context, span time.Duration, rate float64) error {
	start := time.Now()
	for i := range int(rate * span.Seconds()) {
		due := time.Duration(float64(i) / rate * 1e9)
		for left := due - time.Since(start); left > 0 || len(l.idle) == 0; left = due - time.Since(start) {
			if left < reading && len(l.idle) > 0 {
				continue
			}
			if err := l.receive(1, 0); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if err := l.send(); err != nil {
			return err
		}
	}
	for until := time.Now().Add(time.Second); len(l.idle) < l.conns && time.Now().Before(until); {
		if err := l.receive(len(l.events), 1); err != nil {
			return err
		}
	}
	return nil
}
