package serve

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"knee/target/fault"
)

// A Fault is one that can be put into the server.
type Fault struct {
	Kind string
	New  func() (fault.Fault, error) // called for each injection: a fault begins only once
}

// An injection is a fault that is in the server.
type injection struct {
	fault fault.Fault
	lease *time.Timer // takes it out
}

// maxLease is the longest that a fault can stay without being put in again.
const maxLease = 24 * time.Hour

// Inject puts fault i of Config.Faults into the server, where it stays until it
// is lifted or lease is over, whichever comes first, so that a fault does not
// outlive whoever put it there by much. One that is there already begins anew.
func (s *Server) Inject(i int, lease time.Duration) error {
	if err := errors.Join(s.checkFault(i), checkLease(lease)); err != nil {
		return err
	}
	f, err := s.cfg.Faults[i].New()
	if err != nil {
		return fmt.Errorf("fault %d (%s): %w", i, s.cfg.Faults[i].Kind, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return errors.New("the server is closed: no fault can be put into it")
	}
	s.lift(i)
	in := &injection{fault: f}
	in.lease = time.AfterFunc(lease, func() { s.expire(i, in) })
	s.faults[i] = in
	now := s.now()
	s.core.Inject(now, f)
	s.carry(now)
	return nil
}

// Lift takes fault i of Config.Faults out of the server, if it is there.
func (s *Server) Lift(i int) error {
	if err := s.checkFault(i); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lift(i)
	return nil
}

// expire takes out what was put in with in, unless that has happened.
func (s *Server) expire(i int, in *injection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults[i] == in {
		s.lift(i)
	}
}

// lift takes out fault i, if it is there. The lock is held.
func (s *Server) lift(i int) {
	in := s.faults[i]
	if in == nil {
		return
	}
	in.lease.Stop()
	delete(s.faults, i)
	now := s.now()
	s.core.Lift(now, in.fault)
	s.carry(now)
}

// liftAll takes out all faults, in the order of their numbers. The lock is held.
func (s *Server) liftAll() {
	for _, i := range slices.Sorted(maps.Keys(s.faults)) {
		s.lift(i)
	}
}

// present returns the kinds of the faults that are in the server. The lock is held.
func (s *Server) present() []string {
	kinds := []string{}
	for _, i := range slices.Sorted(maps.Keys(s.faults)) {
		kinds = append(kinds, s.cfg.Faults[i].Kind)
	}
	return kinds
}

func (s *Server) checkFault(i int) error {
	switch n := len(s.cfg.Faults); {
	case n == 0:
		return fmt.Errorf("fault %d: the profile has none", i)
	case i < 0 || i >= n:
		return fmt.Errorf("fault %d: want a number from 0 to %d, a place among the faults of the profile", i, n-1)
	}
	return nil
}

func checkLease(d time.Duration) error {
	if d <= 0 || d > maxLease {
		return fmt.Errorf("a fault for %v: want a duration above 0, up to %v", d, maxLease)
	}
	return nil
}
