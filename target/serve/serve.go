// Package serve is the reference server: net/http around the core; control endpoint.
//
// A Server answers every path and method alike. A request that the core lets in
// waits until a worker has done its work and is answered with status 200; one
// that is refused or dropped gets 503 with the reason in Knee-Reason, one whose
// work fails 500. Of a server that is down, or that a crash lost a request
// of, callers see a connection that is closed without an answer. The work is
// imaginary (the core says when it ends) or burns CPU (server.Spec.External).
//
// A caller that hangs up does not stop its work: as in most servers, what has
// been let in is done, and that is what makes overload expensive.
package serve

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"knee/target/protection"
	"knee/target/server"
	"knee/target/work"
)

// Config describes a server.
type Config struct {
	Core    server.Spec
	Faults  []Fault   // what Inject can put into the server
	ShedAt  Stage     // where it says no; default Handler
	Classes []Class   // what Knee-Class may name; the first is that of a request that names none
	Work    work.Dist // draws the work of a request without Knee-Work-Ns; nil: each takes Core.Service
	Seed    uint64    // of those draws
}

// A Class is a kind of request and what holds for its requests unless their
// headers say otherwise.
type Class struct {
	Name        string
	Criticality protection.Criticality
	Tenant      string
	Cost        float64 // above 0; 0 means 1
}

// A Server is one reference server. Its clock starts with New.
type Server struct {
	cfg     Config
	class   map[string]int
	start   time.Time
	shed    atomic.Int64 // instant of the latest refusal, a time.Duration; accept keeps no connections for a while after it
	calls   sync.Pool
	tenant  tenants
	answers answers
	barrier barrier     // of work that burns
	closed  atomic.Bool // Close was called: what burns for nobody may stop
	grpc    *grpc.Server

	prepared, badBodies atomic.Uint64

	mu      sync.Mutex // guards what follows
	core    *server.Core
	timer   *time.Timer
	armed   time.Duration // instant for which the timer is set; protection.Never when it is not
	nextID  uint64
	draw    *rand.Rand
	workers *fixedWorkers
	faults  map[int]*injection // that are in the server, by their number
	outside []*call            // came during a pause, and there is more of them to read
	tally   tally
	frozen  bool // Close was called
}

// New builds a server that listens nowhere yet. It reports what is wrong with
// the specification of the core, or that a protection needs to know what is not
// known yet at the shed stage.
func New(cfg Config) (*Server, error) {
	if len(cfg.Classes) == 0 {
		cfg.Classes = []Class{{Name: "default", Criticality: protection.Critical}}
	}
	cfg.Classes = slices.Clone(cfg.Classes)
	if cfg.ShedAt == "" {
		cfg.ShedAt = Handler
	}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	core, err := server.New(cfg.Core)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:   cfg,
		class: make(map[string]int, len(cfg.Classes)),
		start: time.Now(),
		core:  core,
		armed: protection.Never,
		draw:  stream(cfg.Seed, "serve work"),
		tally: newTally(cfg.Classes),
		grpc:  newGRPC(),

		faults: map[int]*injection{},
	}
	s.shed.Store(-int64(sheddingFor))
	s.calls.New = func() any { return newCall() }
	for i, c := range cfg.Classes {
		s.class[c.Name] = i
		if c.Cost == 0 {
			s.cfg.Classes[i].Cost = 1
		}
	}
	s.timer = time.AfterFunc(time.Hour, s.wake)
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carry(0)
	return s, nil
}

// stream returns the random source of one purpose.
func stream(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Check reports what is wrong with cfg beside the specification of the core,
// which New checks, without building anything that stays.
func (cfg Config) Check() error {
	var errs []error
	if cfg.ShedAt != "" {
		errs = append(errs, cfg.ShedAt.check())
	}
	seen := map[string]bool{}
	for _, c := range cfg.Classes {
		if seen[c.Name] {
			errs = append(errs, fmt.Errorf("class %q is declared twice: want each name once", c.Name))
		}
		seen[c.Name] = true
	}
	return errors.Join(append(errs, cfg.blind())...)
}

// blind reports the protections that cannot decide at the shed stage of cfg,
// because they look at what only the request itself says.
func (cfg Config) blind() error {
	if cfg.ShedAt != Accept {
		return nil
	}
	var errs []error
	for i, l := range cfg.Core.Chain {
		if l.New == nil {
			continue // New says so
		}
		p, err := l.New()
		if err != nil {
			return fmt.Errorf("protections[%d] (%s): %w", i, l.Kind, err)
		}
		if k, ok := p.(protection.Knower); ok && k.Needs() != "" {
			errs = append(errs, fmt.Errorf("protections[%d] (%s) needs to know %s, which is not known at shed_at: accept, before a byte is read: want shed_at: headers, or another protection",
				i, l.Kind, k.Needs()))
		}
	}
	return errors.Join(errs...)
}

// now returns the present on the server's clock.
func (s *Server) now() time.Duration { return time.Since(s.start) }

// Close ends everything inside: callers that wait are refused with reason
// "reset", and so is who comes later.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.liftAll() // those outside come in and are refused, and work that burns goes on to its end
	s.frozen = true
	s.closed.Store(true)
	s.timer.Stop()
	if err := s.reset(); err != nil {
		panic(fmt.Sprintf("serve: plug-ins that could be built once cannot be built again: %v", err))
	}
}
