package live

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

const (
	// perAddress bounds a connection attempt of Reach.
	perAddress = 3 * time.Second
	// reachAtOnce is how many servers Reach looks at at once.
	reachAtOnce = 16
)

// A Try is one address that Reach connected to, or could not.
type Try struct {
	Address string
	Err     error // nil: it worked
}

// An UnreachableError says that no address of a server takes connections.
type UnreachableError struct {
	Target *Target
	To     string // where its connections go; "" where that is the target's own address
	Tried  []Try  // empty when the name could not be resolved
	Err    error  // of the name look-up, else of the last address
}

func (e *UnreachableError) Error() string {
	to := e.Target.String()
	if e.To != "" {
		to += " at " + e.To
	}
	if len(e.Tried) == 0 {
		return fmt.Sprintf("connecting to %s: %v", to, e.Err)
	}
	tried := make([]string, len(e.Tried))
	for i, t := range e.Tried {
		tried[i] = fmt.Sprintf("%s: %v", t.Address, cause(t.Err))
	}
	return fmt.Sprintf("connecting to %s: tried %s", to, strings.Join(tried, "; "))
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Reach looks the names of all servers up and connects to each server once, to
// one address after the other until one takes the connection (over TLS with a
// certificate that is right, if the target wants TLS), and hangs up. What it finds out is where the connections of the run begin. For each server of which
// no address works the error has an *UnreachableError.
func (t *Routes) Reach(ctx context.Context) error {
	errs := make([]error, len(t.order))
	room := make(chan struct{}, reachAtOnce)
	var all sync.WaitGroup
	for i, r := range t.order {
		room <- struct{}{}
		all.Go(func() {
			errs[i] = r.reach(ctx)
			<-room
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// shakeHands ends c, over TLS after a handshake if the target wants TLS.
func (r *route) shakeHands(ctx context.Context, c net.Conn) error {
	if !r.target.Secure() {
		return c.Close()
	}
	config := serverName(r.table.tls, r.target.host)
	config.NextProtos = []string{http2.NextProtoTLS, "http/1.1"}
	secured := tls.Client(c, config)
	ctx, cancel := context.WithTimeout(ctx, perAddress)
	defer cancel()
	err := secured.HandshakeContext(ctx)
	_ = secured.Close() // what the server says of that is of no use
	return err
}

// reach is Reach for one server.
func (r *route) reach(ctx context.Context) error {
	failed := &UnreachableError{Target: r.target}
	if to := r.hop.String(); to != r.target.Address() {
		failed.To = to
	}
	asking, cancel := context.WithTimeout(ctx, longestLookup)
	defer cancel()
	if failed.Err = r.lookUp(asking); failed.Err != nil {
		return failed
	}
	for _, p := range r.current() {
		var c net.Conn
		if c, failed.Err = dialWithin(ctx, perAddress, p.endpoint); failed.Err == nil {
			if failed.Err = r.shakeHands(ctx, c); failed.Err == nil {
				r.opened(p.endpoint)
				return nil
			}
		}
		r.failed(p.endpoint, failed.Err)
		failed.Tried = append(failed.Tried, Try{Address: p.String(), Err: failed.Err})
	}
	return failed
}

// cause returns what is left of a dial error once the address, which its reader
// knows, is taken off.
func cause(err error) error {
	for {
		op, ok := err.(*net.OpError)
		if !ok {
			return err
		}
		err = op.Err
	}
}
