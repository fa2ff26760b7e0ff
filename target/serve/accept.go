package serve

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// Limits of the accept stage.
const (
	sheddingFor    = time.Second // how long after a refusal connections are not kept
	acceptPatience = time.Second // how long a connection that was let in may hold its place without a byte
	drainFor       = time.Second // how long a caller that was turned away may go on sending
	drainBytes     = 64 << 10    // how much of it is read
)

// ReasonSilent is why a connection lost the place that it was given at the
// accept stage: it sent nothing for a second. It stays open, and its first
// request is decided anew.
const ReasonSilent protection.Reason = "silent"

// shedding reports whether the accept stage has refused a caller of late.
func (s *Server) shedding() bool {
	return s.cfg.ShedAt == Accept && s.now() < time.Duration(s.shed.Load())+sheddingFor
}

// turnAway answers a caller of whom nothing was read. Closing a socket that
// holds unread bytes resets it, and the reset can overtake the answer; so the
// connection is closed for sending, and what still comes is thrown away.
func (k *connection) turnAway(g signal) {
	k.SetDeadline(time.Now().Add(drainFor))
	if g.kind == server.Sever {
		k.vanish()
		return
	}
	if !k.write(k.s.answers.bytes(g, false, true)) {
		return
	}
	if half, ok := k.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	io.CopyN(io.Discard, k.Conn, drainBytes)
}

// vanish takes a request and leaves it without an answer, as if the process had
// died meanwhile. To close before it has come would be a reset, or none.
func (k *connection) vanish() {
	if k.br == nil {
		k.br = bufio.NewReaderSize(k.Conn, maxLine)
	}
	c := k.s.take()
	defer k.s.give(c)
	var h head
	if k.s.readHead(k.br, &h, c) == nil && h.body() {
		h.readBody(k.br, io.Discard, maxSkip)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}
