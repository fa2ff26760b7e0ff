package live

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"knee/generator/client"
	"knee/generator/http1"
)

// Epoll is the engine of plain HTTP/1.1 on Linux.
const Epoll Engine = "epoll"

// epoll carries requests as HTTP/1.1 over plain TCP and unix sockets by one event
// loop: the goroutine of the Driver's loop, on a thread of its own, paces, sends,
// reads and parses. So nothing is handed from thread to thread, no lock is taken
// and nothing is allocated per request, and how late a request is sent depends on
// this thread alone.
//
// Sockets are registered once, edge-triggered, for both directions. A request
// that is due has priority: events that came together are handled one by one, and
// those that are left when the next request is due wait until it is sent.
type epoll struct {
	options  HTTP
	knee     bool
	now      func() time.Duration
	fd       int // of the epoll instance
	bell     int // eventfd that wakes a wait
	pools    []*pollPool
	requests [][]pollRequest // by Request, then by class
	parser   parserOptions
	judge    judge

	events  [128]unix.EpollEvent
	pending []unix.EpollEvent // of events, not handled yet
	sockets []*pollConn       // by file descriptor
	dialing dialQueue         // connections being opened
	numbers uint32            // of the sockets so far
	polls   uint64            // how often events were asked for
	ended   []*call           // over, not taken yet
	in      []byte            // what is read at once, by all sockets in turn
	out     []byte            // the request that is being sent

	keeps bool // places among the goroutines that run are left for others

	rung atomic.Bool // somebody rang the bell since the last wait
	seen counters
}

// parserOptions are what all parsers share.
type parserOptions struct {
	limits http1.Limits
	fields *http1.Fields
}

// A pollRequest is a prepared request and the connections that carry it.
type pollRequest struct {
	*http1.Request
	pool *pollPool
}

// refusesEpoll says why the engine cannot do what o asks for.
func refusesEpoll(o *Options) string {
	switch {
	case o.Coarse:
		return "it waits in the kernel, not with timers"
	case o.HTTP.Dial != nil:
		return "it opens its connections itself"
	case o.secure():
		return "it does not speak TLS"
	case !hasPwait2():
		return "this kernel has no epoll_pwait2: want Linux 5.11 or newer"
	}
	return ""
}

// hasPwait2 reports whether waits can be shorter than a millisecond.
func hasPwait2() bool {
	_, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, ^uintptr(0), 0, 0, 0, 0, 0)
	return errno != unix.ENOSYS
}

func newEpoll(o Options, now func() time.Duration) (*epoll, error) {
	options, err := o.HTTP.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &epoll{
		fd: -1, bell: -1, options: options, knee: o.Knee, now: now, in: make([]byte, readAtOnce),
		parser: parserOptions{
			limits: http1.Limits{Head: int(options.MaxHead), Interim: mostInterim, Look: o.Rules.look()},
			fields: http1.NewFields(o.Rules.names()...),
		},
	}
	e.judge = judge{rules: o.Rules, odd: &e.seen.oddRetry}
	if err := e.prepare(o); err != nil {
		return nil, err
	}
	if err := e.open(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// prepare prepares the requests and the connections that carry them.
func (e *epoll) prepare(o Options) error {
	all, err := prepareAll(o)
	if err != nil {
		return err
	}
	pools := map[*route]*pollPool{}
	for _, classes := range all {
		requests := make([]pollRequest, len(classes))
		for i, p := range classes {
			pool := pools[p.route]
			if pool == nil {
				pool = &pollPool{route: p.route}
				pools[p.route] = pool
				e.pools = append(e.pools, pool)
			}
			requests[i] = pollRequest{Request: rawRequest(p, o.HTTP.NoKeepAlive), pool: pool}
		}
		e.requests = append(e.requests, requests)
	}
	return nil
}

// open opens what the loop waits with.
func (e *epoll) open() (err error) {
	if e.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if e.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	return e.watch(e.bell, 0, unix.EPOLLIN)
}

// watch has the loop told of what happens to fd. Its number tells it from others
// that had the same descriptor before, whose events may still be on their way.
func (e *epoll) watch(fd int, number, events uint32) error {
	event := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: int32(fd), Pad: int32(number)}
	if err := unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

func (e *epoll) begin(float64) {
	runtime.LockOSThread()
	// One nanosecond instead of the usual 50 µs by which the kernel may be late. A
	// kernel that refuses is merely less punctual.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	e.keeps = running.Add(1) < int64(runtime.GOMAXPROCS(0))
}

func (e *epoll) rest() {
	running.Add(-1)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0: back to the thread's default
	runtime.UnlockOSThread()
}

func (e *epoll) send(c *call) {
	r := e.requestOf(c)
	if s := e.pop(r.pool); s != nil {
		e.exchange(s, c)
		return
	}
	c.carrier = nil
	r.pool.waiting.push(c)
	e.openMore(r.pool)
}

func (e *epoll) requestOf(c *call) *pollRequest {
	return &e.requests[c.request][c.arrival.Class]
}

func (e *epoll) cancel(c *call) {
	if s, ok := c.carrier.(*pollConn); ok {
		e.hangUp(s)
	} else {
		e.requestOf(c).pool.waiting.remove(c)
	}
	e.end(c)
}

// end gives c back.
func (e *epoll) end(c *call) { e.ended = append(e.ended, c) }

// fail ends c with what became of it.
func (e *epoll) fail(c *call, a client.Answer) {
	c.answer, c.done = a, e.now()
	e.end(c)
}

func (e *epoll) over(spare []*call) []*call {
	ended := e.ended
	e.ended = spare[:0]
	return ended
}

// atLeast is how many events are handled before a request that is due is sent, so
// that answers are read even when every request is late.
const atLeast = 4

func (e *epoll) wait(until time.Duration) {
	for handled := 0; ; {
		if len(e.pending) == 0 {
			if handled > 0 && len(e.ended) > 0 || !e.poll(until) {
				return
			}
		}
		for len(e.pending) > 0 {
			event := e.pending[0]
			e.pending = e.pending[1:]
			e.handle(event)
			if handled++; handled >= atLeast && e.now() >= until {
				return
			}
		}
		if e.rung.Swap(false) {
			return
		}
	}
}

// poll waits for events until the given instant, or until connections that are
// being opened have taken too long, and reports whether there may be more to do
// before the instant.
func (e *epoll) poll(until time.Duration) bool {
	now := e.now()
	e.giveUpDials(now)
	if len(e.ended) > 0 {
		until = now
	}
	wake := min(until, e.dialing.due(e.options.ConnectTimeout))
	n := e.pwait(max(0, wake-now))
	e.polls++
	e.pending = e.events[:n]
	for _, event := range e.pending {
		if s := e.about(event); s != nil {
			s.stirred = true
		}
	}
	return n > 0 || wake < until
}

// longestKept is the longest wait during which the loop keeps its place among the
// goroutines that run. To give it up and to take it again costs more than such a
// wait: the runtime, which looks after goroutines in system calls, would wake some
// ten thousand times a second and take a sixth of what sending does.
const longestKept = 2 * time.Millisecond

// running is how many loops run in this process.
var running atomic.Int64

// pwait fills in events that come within d.
func (e *epoll) pwait(d time.Duration) int {
	at := unix.NsecToTimespec(int64(d))
	call := unix.Syscall6
	if d == 0 || e.keeps && d <= longestKept {
		call = unix.RawSyscall6
	}
	n, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events)), uintptr(len(e.events)),
		uintptr(unsafe.Pointer(&at)), 0, 0)
	if errno != 0 {
		return 0 // interrupted by a signal
	}
	return int(n)
}

// handle does what an event asks for.
func (e *epoll) handle(event unix.EpollEvent) {
	if int(event.Fd) == e.bell {
		var count [8]byte
		_, _ = unix.Read(e.bell, count[:])
		return
	}
	s := e.about(event)
	if s == nil {
		return // closed while the event was on its way
	}
	s.stirred = false
	if s.state == opening {
		// What the server says unasked, and its close, can come with the same event.
		if e.opened(s); s.state == closed {
			return
		}
	}
	const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if event.Events&(unix.EPOLLIN|over) != 0 {
		e.read(s, event.Events&over != 0)
	}
	if event.Events&unix.EPOLLOUT != 0 && s.sending() {
		e.write(s)
	}
}

// about returns the connection that an event is about; nil when it is the bell, or
// a connection that is closed.
func (e *epoll) about(event unix.EpollEvent) *pollConn {
	fd := int(event.Fd)
	if fd >= len(e.sockets) {
		return nil
	}
	if s := e.sockets[fd]; s != nil && s.number == uint32(event.Pad) {
		return s
	}
	return nil
}

func (e *epoll) wake() {
	e.rung.Store(true)
	_, _ = unix.Write(e.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (e *epoll) traffic() Traffic { return e.seen.traffic() }

func (e *epoll) warm(ctx context.Context, n int) error {
	defer context.AfterFunc(ctx, e.wake)()
	p := e.pools[0]
	p.wanted, p.failure = n, nil
	for e.openMore(p); p.wanted > 0; {
		if ctx.Err() != nil {
			p.wanted = 0
			return context.Cause(ctx)
		}
		e.wait(e.now() + time.Millisecond) // a connection that is open ends no wait
	}
	return p.failure
}

func (e *epoll) close() {
	for _, s := range e.sockets {
		if s != nil {
			e.hangUp(s)
		}
	}
	_ = unix.Close(e.bell)
	_ = unix.Close(e.fd)
}
