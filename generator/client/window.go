package client

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// ReasonNoCredit says that the server granted no credit for an original before
// its deadline.
const ReasonNoCredit = "no_credit"

func init() {
	Registry.Register(plugin.Info[NewBehaviour]{
		Name:  "window",
		Doc:   "keeps as many attempts open as the server has granted credits, and holds the rest at the source (backpressure)",
		Worse: "with a server that grants nothing, or many callers that come seldom: it is a fixed bound then, and the wait is only elsewhere",
		Knobs: func() any { return &windowKnobs{Credits: 10, Least: 1, Per: perClient} },
		New:   newWindow,
	})
}

type windowKnobs struct {
	Credits   int           `yaml:"credits" doc:"attempts that may be open before the server has granted any, 1 to 1000000; what stays if it never does"`
	Least     int           `yaml:"least" doc:"attempts that may be open whatever the server grants, 0 to 1000000; at 0 a caller that is granted none and has none open never asks again"`
	Allowance time.Duration `yaml:"allowance" doc:"how long before its deadline an attempt is given up, as it could not be answered in time any more, 0 to 24h; 0: half of the time from its arrival to the deadline"`
	Per       string        `yaml:"per" doc:"whose state it is: client (every caller has its own) or all (one for the whole population)"`
}

// window holds attempts for which their caller has no free credit, in the order
// in which they came, until shortly before their deadline. What was held to the
// very deadline would be sent in vain, take a credit from the next, and have that
// sent in vain as well. To measure how long an attempt takes would not do: callers
// that begin under overload would see no success to measure. A grant replaces the
// one before.
type window struct {
	least     int
	allowance time.Duration
	states    states[credit]
	touched   *credit // whose attempt ended last
}

// credit is the state of one caller.
type credit struct {
	most, open int
	held       heldList
}

// holding in the mark says that the attempt is held.
const holding = 1

func newWindow(s Setup, knobs any) (Behaviour, error) {
	k := *knobs.(*windowKnobs)
	var errs []error
	if k.Credits < 1 || k.Credits > 1e6 {
		errs = append(errs, plugin.Knob("credits", k.Credits, "1 to 1000000"))
	}
	if k.Least < 0 || k.Least > 1e6 {
		errs = append(errs, plugin.Knob("least", k.Least, "0 to 1000000"))
	}
	if k.Allowance < 0 || k.Allowance > longest {
		errs = append(errs, plugin.Knob("allowance", k.Allowance, "0 to 24h"))
	}
	if err := errors.Join(append(errs, checkPer(k.Per))...); err != nil {
		return nil, err
	}
	return &window{
		least: k.Least, allowance: k.Allowance,
		states: newStates(s, k.Per, func() *credit { return &credit{most: k.Credits} }),
	}, nil
}

func (w *window) Before(now time.Duration, a *Attempt) (time.Duration, string) {
	c := w.states.get(a)
	if c.open < c.most { // then none is held
		c.open++
		return now, ""
	}
	until := a.Deadline - w.needed(a)
	if until > now {
		c.held.push(a)
		a.Mark.Count = holding
	}
	return until, ReasonNoCredit
}

// needed returns how much time a has to have left.
func (w *window) needed(a *Attempt) time.Duration {
	if w.allowance > 0 {
		return w.allowance
	}
	return (a.Deadline - a.Arrival.At) / 2
}

func (w *window) After(_ time.Duration, a *Attempt, e Answer) time.Duration {
	c := w.states.get(a)
	w.touched = c
	if a.Mark.Count == holding {
		c.held.remove(a)
		return never
	}
	c.open--
	if e.Granted {
		c.most = max(e.Credits, w.least)
	}
	return never
}

// Release lets go the attempt held longest by the caller touched last, if that has
// a free credit.
func (w *window) Release(time.Duration) *Attempt {
	c := w.touched
	if c.open >= c.most || c.held.n == 0 {
		return nil
	}
	a := c.held.pop()
	a.Mark.Count = 0
	c.open++
	return a
}
