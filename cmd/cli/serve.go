package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"knee/ci/verdict"
	"knee/profiles"
	"knee/target/fault"
	"knee/target/protection"
	"knee/target/serve"
)

// serveGrace is how long a server that was told to stop goes on with the
// requests inside.
const serveGrace = 5 * time.Second

type serveOptions struct {
	profile runOptions
	listen  string
	control string
	child   bool
	null    nullOptions
}

func newServeCmd(w *world) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [PROFILE]",
		Short: "the reference server alone",
		Long: `serve runs the built-in server of a profile until it is interrupted. Counts,
reset and changes are on the control endpoint, which wants the token that serve
prints: curl -H "Authorization: Bearer TOKEN" http://CONTROL/counts
POST /change takes JSON: {"workers": 5} changes their number, {"inject": [{"fault": 0,
"for_ms": 5000}]} puts in the profile's first fault for at most so long, {"lift": [0]}
takes it out.

With --null it is a server that does nothing, to measure load generators with: it
answers every request with the same 200, and prints {"addr": …, "pid": …} once it
listens.`,
		Example: `  knee serve
  knee serve limit --listen 127.0.0.1:9000 --set target.shed_at=headers
  knee serve --null --listen 127.0.0.1:9000 --arrivals arrivals.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.null.check(cmd.Flags(), args); err != nil {
				return err
			}
			if o.null.serve {
				return serveNull(cmd.Context(), w, &o)
			}
			if o.child {
				return serveChild(cmd.Context(), w)
			}
			o.profile.seedSet = cmd.Flags().Changed("seed")
			return runServe(cmd.Context(), w, &o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "serve on `HOST:PORT`")
	f.StringVar(&o.control, "control", "127.0.0.1:0", "control endpoint on the loopback `HOST:PORT`; port 0 is any")
	f.BoolVar(&o.child, "child", false, "be the server of another knee: the profile comes on stdin")
	if err := f.MarkHidden("child"); err != nil {
		panic(err)
	}
	o.null.add(f)
	o.profile.addProfile(f)
	return cmd
}

func runServe(ctx context.Context, w *world, o *serveOptions, args []string) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	p, err := loadProfile(w, &o.profile, name)
	if err != nil {
		return err
	}
	if err := serveProfile(ctx, w, p, o.listen, o.control); err != nil {
		return err
	}
	if why := (*interrupt)(nil); errors.As(context.Cause(ctx), &why) {
		return exit(why.code())
	}
	return nil
}

// serveProfile serves p until ctx is done, and says on stderr where.
func serveProfile(ctx context.Context, w *world, p *profiles.Profile, listen, control string) error {
	s, err := newReference(ctx, p, listen, control)
	if err != nil {
		return err
	}
	r := s.ready()
	fmt.Fprintf(w.stderr, "knee: serving profile %s on http://%s/\nknee: control on http://%s/ with token %s\n", p.Name, r.Addr, r.Control, r.Token)
	return s.serve(ctx)
}

// reference is the reference server of a profile with both its listeners.
type reference struct {
	server  *serve.Server
	data    net.Listener
	control net.Listener
	token   string
}

// newReference builds the server of p and listens on both addresses.
func newReference(ctx context.Context, p *profiles.Profile, listen, control string) (*reference, error) {
	cfg, err := serverConfig(p)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	s, err := serve.New(cfg)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "profile %s: %w", p.Name, err)
	}
	if p.Target.Service.CPU {
		makeRoom(p.Target.Workers)
	}
	r := &reference{server: s, token: serve.NewToken()}
	var lc net.ListenConfig
	if r.data, err = lc.Listen(ctx, "tcp", listen); err != nil {
		return nil, fail(verdict.CodeNotStarted, "--listen %s: %w", listen, err)
	}
	if r.control, err = serve.ListenControl(ctx, control); err != nil {
		r.data.Close()
		return nil, fail(verdict.CodeNotStarted, "%w", err)
	}
	return r, nil
}

// mostBurning is how many workers that burn CPU get a place of their own among the
// goroutines that run at a time.
const mostBurning = 64

// makeRoom has the system share the CPUs between workers that burn them and what
// reads and refuses requests, as it does in a server with threads. Go alone would look
// for arrivals every 10 ms only while its places are all taken by those that burn.
func makeRoom(workers int) {
	if _, chosen := os.LookupEnv("GOMAXPROCS"); !chosen {
		runtime.GOMAXPROCS(runtime.NumCPU() + min(workers, mostBurning))
	}
}

// serve answers on both listeners until ctx is done.
func (r *reference) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	controlled := make(chan error, 1)
	go func() { controlled <- serve.ServeControl(ctx, r.control, r.server.Control(r.token)) }()
	err := r.server.Serve(ctx, r.data, serveGrace)
	cancel()
	if err = errors.Join(err, <-controlled); err != nil {
		return fail(verdict.CodeInternal, "serving: %w", err)
	}
	return nil
}

// serverConfig returns the built-in server that p describes.
func serverConfig(p *profiles.Profile) (serve.Config, error) {
	if p.Topology != nil {
		return serve.Config{}, fmt.Errorf("profile %s has a topology: want one without, several servers are in virtual time only", p.Name)
	}
	spec, err := p.Server()
	if err != nil {
		return serve.Config{}, err
	}
	spec.External, spec.ExternalDebt = p.Target.Service.CPU, p.Target.Service.CPU
	dist, err := p.Work()
	if err != nil {
		return serve.Config{}, err
	}
	cfg := serve.Config{Core: spec, ShedAt: serve.Stage(p.Target.ShedAt), Work: dist, Seed: p.Seed}
	for i, f := range p.Faults {
		cfg.Faults = append(cfg.Faults, serve.Fault{Kind: f.Kind, New: func() (fault.Fault, error) { return p.NewFault(i, 0, 0) }})
	}
	for _, c := range p.Classes() {
		cfg.Classes = append(cfg.Classes, serve.Class{
			Name: c.Name, Criticality: protection.Criticality(c.Criticality), Tenant: c.Tenant, Cost: c.Cost,
		})
	}
	return cfg, nil
}

// childOrder is what a parent writes to its child's stdin: one line of JSON. The
// child lives as long as its stdin stays open.
type childOrder struct {
	Profile string `json:"profile"` // resolved, as YAML
}

// childReady is what the child answers on stdout, in one line of JSON, once it
// takes requests.
type childReady struct {
	Addr    string `json:"addr"`    // of the server, HOST:PORT
	Control string `json:"control"` // of the control endpoint, HOST:PORT
	Token   string `json:"token"`   // of the control endpoint
	PID     int    `json:"pid"`
}

func (r *reference) ready() childReady {
	return childReady{Addr: r.data.Addr().String(), Control: r.control.Addr().String(), Token: r.token, PID: os.Getpid()}
}

// maxOrder bounds the line that a child reads, in bytes.
const maxOrder = 4 << 20

// serveChild is the child's side of startChild.
func serveChild(ctx context.Context, w *world) error {
	in := bufio.NewReaderSize(w.stdin, maxOrder)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return fail(verdict.CodeUsage, "serve --child: reading the profile from stdin: %w", err)
	}
	var order childOrder
	if err := json.Unmarshal(line, &order); err != nil {
		return fail(verdict.CodeUsage, "serve --child: the first line of stdin: %w: want JSON with the field profile", err)
	}
	p, err := profiles.Load("-", profiles.Overrides{Stdin: bytes.NewReader([]byte(order.Profile))})
	if err != nil {
		return fail(verdict.CodeUsage, "serve --child: %w", err)
	}
	s, err := newReference(ctx, p, "127.0.0.1:0", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { // the end of stdin is the end of the parent, or its wish
		io.Copy(io.Discard, in)
		w.leave(verdict.CodeOK)
	}()
	if err := json.NewEncoder(w.stdout).Encode(s.ready()); err != nil {
		return fail(verdict.CodeNotStarted, "serve --child: telling the parent: %w", err)
	}
	return s.serve(ctx)
}
