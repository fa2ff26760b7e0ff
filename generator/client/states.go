package client

import "knee/target/plugin"

// The values of the knob per.
const (
	perClient = "client"
	perAll    = "all"
)

func checkPer(per string) error {
	if per != perClient && per != perAll {
		return plugin.Knob("per", per, "client or all")
	}
	return nil
}

// states holds the state of each caller, or one that all of them share. A state
// is made when it is asked for first.
type states[T any] struct {
	shared bool
	fresh  func() *T
	of     []*T
}

func newStates[T any](s Setup, per string, fresh func() *T) states[T] {
	n := s.Clients
	if per == perAll {
		n = 1
	}
	return states[T]{shared: per == perAll, fresh: fresh, of: make([]*T, max(n, 1))}
}

// get returns the state of the caller of a.
func (s *states[T]) get(a *Attempt) *T {
	i := int(a.Arrival.Client)
	if s.shared {
		i = 0
	}
	for i >= len(s.of) {
		s.of = append(s.of, nil)
	}
	if s.of[i] == nil {
		s.of[i] = s.fresh()
	}
	return s.of[i]
}
