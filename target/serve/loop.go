package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"knee/target/server"
)

// loop serves connections at the accept and headers stages: a hand-kept minimum
// of HTTP/1.1, one goroutine a connection.
type loop struct {
	s       *Server
	closing atomic.Bool
	running sync.WaitGroup // connections

	mu    sync.Mutex
	lns   map[net.Listener]struct{}
	conns map[net.Conn]struct{}
}

func newLoop(s *Server) *loop {
	return &loop{s: s, lns: map[net.Listener]struct{}{}, conns: map[net.Conn]struct{}{}}
}

// Serve accepts connections from ln until it is closed.
func (l *loop) Serve(ln net.Listener) error {
	l.mu.Lock()
	l.lns[ln] = struct{}{}
	l.mu.Unlock()
	var pause time.Duration
	for !l.closing.Load() {
		conn, err := ln.Accept()
		if err != nil {
			if l.closing.Load() {
				break
			}
			if !temporary(err) {
				return err
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			time.Sleep(pause)
			continue
		}
		pause = 0
		l.accept(conn)
	}
	return http.ErrServerClosed
}

// temporary reports whether accepting may work again: descriptors have run out,
// or the caller has gone already.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// accept takes in a connection; at the accept stage it is refused here.
func (l *loop) accept(conn net.Conn) {
	k := &connection{loop: l, s: l.s, Conn: conn}
	if l.s.cfg.ShedAt == Accept {
		k.admitted = l.s.take()
		if !l.s.admit(k.admitted) {
			g := <-k.admitted.signals
			l.s.give(k.admitted)
			l.start(conn, func() { k.turnAway(g) })
			return
		}
	}
	l.start(conn, k.serve)
}

// start runs f for conn on a goroutine of its own and closes conn afterwards.
// A connection that was accepted while the loop closes is not waited for.
func (l *loop) start(conn net.Conn, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Load() {
		conn.Close()
		go f()
		return
	}
	l.conns[conn] = struct{}{}
	l.running.Add(1)
	go func() {
		defer l.running.Done()
		f()
		conn.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, conn)
	}()
}

// Shutdown closes the listeners and waits for the requests that were read; ctx
// bounds the wait.
func (l *loop) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.closing.Store(true)
	for ln := range l.lns {
		ln.Close()
	}
	for conn := range l.conns {
		conn.SetReadDeadline(time.Unix(1, 0)) // wakes those that wait for a request
	}
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		l.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes everything at once.
func (l *loop) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing.Store(true)
	for ln := range l.lns {
		ln.Close()
	}
	for conn := range l.conns {
		conn.Close()
	}
	return nil
}

// connection is one connection of a loop.
type connection struct {
	net.Conn
	loop     *loop
	s        *Server
	br       *bufio.Reader
	admitted *call // let in at the accept stage; the next request is this one
}

// serve answers the requests of the connection, one after the other.
func (k *connection) serve() {
	k.br = bufio.NewReaderSize(k.Conn, maxLine)
	for k.next() {
	}
	if k.admitted != nil {
		k.s.release(k.admitted, ReasonMalformed)
		k.s.give(k.admitted)
	}
}

// next serves one request and reports whether the connection goes on.
func (k *connection) next() bool {
	if !k.await(idleTimeout) {
		return false
	}
	c := k.admitted
	k.admitted = nil
	if c == nil {
		c = k.s.take()
	}
	defer k.s.give(c)
	c.facts.arrived = k.s.now()
	var h head
	if err := k.s.readHead(k.br, &h, c); err != nil {
		k.malformed(c, err)
		return false
	}
	c.facts.bytes = max(0, h.length)
	var g signal
	if !c.stranger && !h.body() {
		k.s.arrive(c)
		g = k.s.await(c)
	} else {
		if !c.stranger && !k.s.admit(c) {
			return k.refuse(<-c.signals, &h)
		}
		if h.body() && !k.prepare(c, &h) {
			return false
		}
		g = k.s.work(c)
	}
	if g.kind == server.Sever {
		return false
	}
	closing := h.close || k.loop.closing.Load() || k.s.shedding()
	return k.write(k.s.answers.bytes(g, h.headOnly, closing)) && !closing
}

// await waits for the first byte of the next request. At the accept stage it is
// there that a request on a kept connection is let in.
func (k *connection) await(patience time.Duration) bool {
	if k.admitted != nil {
		patience = acceptPatience
	}
	k.SetReadDeadline(time.Now().Add(patience))
	if k.loop.closing.Load() {
		return false
	}
	_, err := k.br.Peek(1)
	if k.s.cfg.ShedAt != Accept {
		return err == nil
	}
	if k.admitted != nil {
		if err == nil || !isTimeout(err) {
			return err == nil
		}
		k.s.release(k.admitted, ReasonSilent)
		k.s.give(k.admitted)
		k.admitted = nil
		return k.await(idleTimeout)
	}
	if err != nil {
		return false
	}
	c := k.s.take()
	if !k.s.admit(c) {
		g := <-c.signals
		k.s.give(c)
		k.turnAway(g)
		return false
	}
	k.admitted = c
	return true
}

// refuse says no to a request whose head was read, and skips its body.
func (k *connection) refuse(g signal, h *head) bool {
	if g.kind == server.Sever {
		h.readBody(k.br, io.Discard, maxSkip)
		return false
	}
	closing := h.close || k.loop.closing.Load() || h.expect || h.length > maxSkip
	if !k.write(k.s.answers.bytes(g, h.headOnly, closing)) || closing {
		return false
	}
	return !h.body() || h.readBody(k.br, io.Discard, maxSkip) == nil
}

// prepare reads the body of c, which was let in, and prepares it; false means
// that it could not be read, and the caller has been told.
func (k *connection) prepare(c *call, h *head) bool {
	if h.expect && !k.write([]byte("HTTP/1.1 100 Continue\r\n\r\n")) {
		k.s.release(c, ReasonMalformed)
		return false
	}
	var body bytes.Buffer
	if err := h.readBody(k.br, &body, maxBody); err != nil {
		k.malformed(c, badHead("the body cannot be read"))
		return false
	}
	k.s.prepare(body.Bytes(), h.signed)
	return true
}

// malformed ends c, of which something cannot be read. A caller that has gone
// gets no answer.
func (k *connection) malformed(c *call, err error) {
	k.s.release(c, ReasonMalformed)
	var bad *headError
	if errors.As(err, &bad) {
		k.write(raw(bad.status, bad.what+"\n", nil, false, true))
	}
}

func (k *connection) write(b []byte) bool {
	_, err := k.Write(b)
	return err == nil
}
