package client

import (
	"errors"
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
			hedges++
		}
		if l.planner != nil && Attempts(behaviours[:i]) == 1 {
			return nil, fmt.Errorf("client: behaviours.%d limits retries and hedges and stands before all of them: want it behind, where it sees them", i)
		}
		chain = append(chain, l)
	}
	if hedges > 1 {
		return nil, errors.New("client: more than one behaviour hedges: want one at most")
	}
	return chain, nil
}
