package live

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// perAddress bounds a connection attempt of Preflight.
const perAddress = 3 * time.Second

// A Try is one address that Preflight connected to, or could not.
type Try struct {
	Address string
	Err     error // nil: it worked
}

// An UnreachableError says that no address of a target takes connections.
type UnreachableError struct {
	Target *Target
	Tried  []Try // empty when the name could not be resolved
	Err    error // of the name look-up, else of the last address
}

func (e *UnreachableError) Error() string {
	if len(e.Tried) == 0 {
		return fmt.Sprintf("connecting to %s: %v", e.Target, e.Err)
	}
	tried := make([]string, len(e.Tried))
	for i, t := range e.Tried {
		tried[i] = fmt.Sprintf("%s: %v", t.Address, cause(t.Err))
	}
	return fmt.Sprintf("connecting to %s: tried %s", e.Target, strings.Join(tried, "; "))
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Preflight resolves the host of t, connects once to one address after the other
// until one takes the connection, and hangs up. It returns the addresses tried,
// the last of which worked: give it to HTTP.Address, so that a name is not looked
// up again during the run. When none works it returns an *UnreachableError.
func Preflight(ctx context.Context, t *Target) ([]Try, error) {
	hosts, err := net.DefaultResolver.LookupHost(ctx, t.host)
	if err != nil {
		return nil, &UnreachableError{Target: t, Err: err}
	}
	var tried []Try
	for _, host := range hosts {
		address := net.JoinHostPort(host, t.port)
		var c net.Conn
		dialer := net.Dialer{Timeout: perAddress}
		c, err = dialer.DialContext(ctx, "tcp", address)
		tried = append(tried, Try{Address: address, Err: err})
		if err == nil {
			return tried, c.Close()
		}
	}
	return tried, &UnreachableError{Target: t, Tried: tried, Err: err}
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
