package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"knee/ci/verdict"
	"knee/target/null"
)

// nullOptions are the flags of serve that put a server that does nothing in
// place of the reference server: for doctor, and to measure load generators.
type nullOptions struct {
	serve    bool
	body     int
	busy     bool
	arrivals string
	most     int
}

func (o *nullOptions) add(f *pflag.FlagSet) {
	f.BoolVar(&o.serve, "null", false, "serve nothing but one small answer, as fast as one thread can: to measure load generators")
	f.IntVar(&o.body, "null-body", 2, "with --null: `BYTES` of the answer's body")
	f.BoolVar(&o.busy, "null-busy", false, "with --null: look for requests all the time, on a CPU of its own, not wait for them")
	f.StringVar(&o.arrivals, "arrivals", "", "with --null: write to `FILE`, at the end, when each request came, in nanoseconds of the monotonic clock, one a line")
	f.IntVar(&o.most, "arrivals-most", 4_000_000, "with --arrivals: the first `N` requests are kept")
}

// mostBody is the largest body, in bytes.
const mostBody = 64 << 20

// check refuses values that are not allowed, and flags that have no effect.
func (o *nullOptions) check(f *pflag.FlagSet, args []string) error {
	if !o.serve {
		for _, name := range []string{"null-body", "null-busy", "arrivals", "arrivals-most"} {
			if f.Changed(name) {
				return fail(verdict.CodeUsage, "--%s without --null: want both", name)
			}
		}
		return nil
	}
	switch {
	case len(args) > 0:
		return fail(verdict.CodeUsage, "--null with the profile %s: want one of them", args[0])
	case o.body < 0 || o.body > mostBody:
		return fail(verdict.CodeUsage, "--null-body %d: want 0 to %d", o.body, mostBody)
	case o.most < 1:
		return fail(verdict.CodeUsage, "--arrivals-most %d: want at least 1", o.most)
	}
	return nil
}

// nullReady is what the server says on stdout, in one line of JSON, once it
// takes requests.
type nullReady struct {
	Addr string `json:"addr"` // HOST:PORT
	PID  int    `json:"pid"`
}

// serveNull serves until it is interrupted, and with --child at the latest until
// its stdin ends. Then it writes the arrivals.
func serveNull(ctx context.Context, w *world, o *serveOptions) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fail(verdict.CodeNotStarted, "--listen %s: %w", o.listen, err)
	}
	defer l.Close()
	options := null.Options{Body: bytes.Repeat([]byte{'x'}, o.null.body), Busy: o.null.busy}
	if o.null.arrivals != "" {
		options.Arrivals = o.null.most
	}
	s, err := null.New(l, options)
	if err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	if o.child {
		go func() {
			io.Copy(io.Discard, w.stdin)
			stop()
		}()
	}
	if err := json.NewEncoder(w.stdout).Encode(nullReady{Addr: l.Addr().String(), PID: os.Getpid()}); err != nil {
		return fail(verdict.CodeNotStarted, "serve --null: saying where: %w", err)
	}
	if err := s.Serve(serving); err != nil {
		return fail(verdict.CodeInternal, "%w", err)
	}
	if o.null.arrivals != "" {
		if err := writeArrivals(o.null.arrivals, s.Arrivals()); err != nil {
			return fail(verdict.CodeInternal, "--arrivals: %w", err)
		}
	}
	if why := (*interrupt)(nil); errors.As(context.Cause(ctx), &why) {
		return exit(why.code())
	}
	return nil
}

// writeArrivals writes instants to a file, one a line.
func writeArrivals(name string, at []int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	var line []byte
	for _, t := range at {
		line = append(strconv.AppendInt(line[:0], t, 10), '\n')
		out.Write(line)
	}
	return errors.Join(out.Flush(), f.Close())
}
