package live

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// An endpoint is a place to connect to, and where from.
type endpoint struct {
	network string // tcp or unix
	addr    netip.AddrPort
	path    string     // of a unix socket
	local   netip.Addr // to connect from; the zero value leaves the choice to the kernel
}

// String returns where e is, as people write it.
func (e endpoint) String() string {
	if e.network == "unix" {
		return e.path
	}
	return e.addr.String()
}

// A route knows the endpoints of one scheme, host and port. Any goroutine may
// use it.
//
// Connections go in turn to the addresses of the family that worked last, which
// is that of the first address as long as none has. An address that fails is
// passed over for a second, so that one that is overloaded keeps its share, and
// for a minute when it has never worked. When all of a family are passed over it
// is the other's turn; when all are, connections go to those that have worked:
// how they fail is what there is to measure.
type route struct {
	target *Target // the first that it leads to
	table  *Routes
	hop    hop
	named  bool // the hop has to be looked up

	mu     sync.Mutex
	places []*place
	turn   int  // index of the place that is looked at first
	v4     bool // the family that worked last
	err    error
	due    time.Time // when the name is looked up again
	asking bool      // it is being looked up
}

// A place is an endpoint of a route, and what is known of it.
type place struct {
	endpoint
	worked bool
	failed time.Time // last; zero: never, or it has worked since
}

const (
	passedOver      = time.Second // how long an address that failed is left out
	passedOverFresh = time.Minute // and one that has never worked
	// lookAgain is how long after a look-up that failed the next one comes.
	lookAgain = time.Second
	// longestLookup bounds how long a name may take to resolve.
	longestLookup = 5 * time.Second
)

// usable reports whether p is not passed over.
func (p *place) usable(now time.Time) bool {
	wait := passedOverFresh
	if p.worked {
		wait = passedOver
	}
	return p.failed.IsZero() || now.Sub(p.failed) >= wait
}

func (p *place) v4() bool { return p.addr.Addr().Is4() }

// pick returns the endpoint to connect to next. Each pick is followed by one
// closed, when the connection is gone or could not be opened; before that, opened
// or failed say whether it stood. The error is that of the name look-up.
func (r *route) pick() (endpoint, error) {
	now := r.table.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookUpLater(now)
	p := r.choose(now)
	if p == nil {
		return endpoint{}, r.err
	}
	e := p.endpoint
	e.local = r.table.sources.take(e, now)
	return e, nil
}

// choose returns the best place, of several the one whose turn it is; nil when
// there is none.
func (r *route) choose(now time.Time) *place {
	var best *place
	turn, least := 0, 0
	for i := range r.places {
		at := (r.turn + i) % len(r.places)
		if p := r.places[at]; best == nil || r.rank(p, now) < least {
			best, turn, least = p, at+1, r.rank(p, now)
		}
	}
	r.turn = turn
	return best
}

// rank says how good it would be to connect to p; 0 is best.
func (r *route) rank(p *place, now time.Time) int {
	rank := 0
	if p.v4() != r.v4 {
		rank++
	}
	switch {
	case p.usable(now):
		return rank
	case p.worked:
		return rank + 2
	}
	return 4
}

// opened tells r that a connection to e stands.
func (r *route) opened(e endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.placeOf(e); p != nil {
		p.worked, p.failed, r.v4 = true, time.Time{}, p.v4()
	}
}

// failed tells r why no connection to e could be opened.
func (r *route) failed(e endpoint, err error) {
	now := r.table.now()
	switch notSent(err) {
	case "":
	case Ports:
		r.table.sources.full(e, now)
		return
	default: // it was not the server's fault
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.placeOf(e); p != nil {
		p.failed = now
	}
}

// closed tells r that what pick gave is no longer used.
func (r *route) closed(e endpoint) { r.table.sources.give(e) }

// current returns the places that r knows.
func (r *route) current() []*place {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.places
}

// placeOf returns the place of e; nil when r does not lead there any more.
func (r *route) placeOf(e endpoint) *place {
	e.local = netip.Addr{}
	for _, p := range r.places {
		if p.endpoint == e {
			return p
		}
	}
	return nil
}

// dial opens a connection to where r leads, for engines that use package net.
// The endpoint is for closed.
func (r *route) dial(ctx context.Context) (net.Conn, endpoint, error) {
	if r.table.dial != nil {
		c, err := r.table.dial(ctx, "tcp", r.hop.String())
		return c, endpoint{}, err
	}
	e, err := r.pick()
	if err != nil {
		return nil, e, err
	}
	c, err := dialEndpoint(ctx, e)
	if err != nil {
		r.failed(e, err)
		r.closed(e)
		return nil, e, err
	}
	r.opened(e)
	return c, e, nil
}

// lookUp looks the name up, unless r leads to where no name is needed.
func (r *route) lookUp(ctx context.Context) error {
	places, err := r.table.places(ctx, r.hop)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(places, err, r.table.now())
	return err
}

// keep makes places those of r. What is known of a place that stays is kept, and
// all are when there was an error.
func (r *route) keep(places []*place, err error, now time.Time) {
	r.asking = false
	if err != nil {
		r.due = now.Add(lookAgain)
		if len(r.places) == 0 {
			r.err = err
		}
		return
	}
	for i, p := range places {
		if known := r.placeOf(p.endpoint); known != nil {
			places[i] = known
		}
	}
	fresh := len(r.places) == 0
	r.places, r.turn, r.err = places, 0, nil
	r.due = now.Add(r.table.ttl)
	if fresh {
		r.v4 = places[0].v4()
	}
}

// lookUpLater has the name looked up, by a goroutine of its own, when that is due.
// Nobody waits for it: until it is through, the addresses that are known do.
func (r *route) lookUpLater(now time.Time) {
	t := r.table
	if !r.named || r.asking || now.Before(r.due) || len(r.places) > 0 && t.ttl < 0 || t.ctx.Err() != nil {
		return
	}
	r.asking = true
	t.lookUps.Go(func() {
		ctx, cancel := context.WithTimeout(t.ctx, longestLookup)
		defer cancel()
		_ = r.lookUp(ctx) // kept in r
	})
}
