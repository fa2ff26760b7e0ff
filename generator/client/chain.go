package client

import (
	"fmt"
)

// mostBehaviours bounds a chain: levels has a bit for each.
const mostBehaviours = 32

// levels is a set of places in a chain.
type levels uint32

func (l levels) has(level int) bool { return l&(1<<level) != 0 }

// below returns those of l that are outside of level.
func (l levels) below(level int) levels { return l & (1<<level - 1) }

// A link is a behaviour in a chain and the further interfaces that it has.
type link struct {
	Behaviour
	planner Planner
	holder  Holder
	hedger  Hedger
}

// An OrderError says that a behaviour cannot do what it is for where it stands.
type OrderError struct {
	Index int // of the behaviour
	What  string
	Want  string
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("client: behaviours.%d %s: want %s", e.Index, e.What, e.Want)
}

// CheckOrder returns an *OrderError for behaviours in an order in which one of
// them would see nothing of what it is for.
func CheckOrder(behaviours []Behaviour) error {
	_, err := newChain(behaviours)
	return err
}

// newChain looks the interfaces up. It returns an error for an order in which a
// behaviour would see nothing of what it is for.
func newChain(behaviours []Behaviour) ([]link, error) {
	if n := len(behaviours); n > mostBehaviours {
		return nil, fmt.Errorf("client: %d behaviours: want at most %d", n, mostBehaviours)
	}
	var chain []link
	hedges := 0
	for i, b := range behaviours {
		l := link{Behaviour: b}
		l.planner, _ = b.(Planner)
		l.holder, _ = b.(Holder)
		l.hedger, _ = b.(Hedger)
		if l.hedger != nil {
			if hedges++; hedges > 1 {
				return nil, &OrderError{Index: i, What: "is the second that hedges", Want: "one at most"}
			}
		}
		if l.planner != nil && Attempts(behaviours[:i]) == 1 {
			return nil, &OrderError{Index: i, What: "limits retries and hedges and has none before it", Want: "a retry or a hedge before it: it sees what they make"}
		}
		chain = append(chain, l)
	}
	return chain, nil
}
