package client

import (
	"errors"
	"fmt"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
)

// Reasons of originals, or further attempts of one, that could not be sent.
const (
	ReasonInFlight  = "in_flight"   // MaxInFlight attempts were outstanding
	ReasonOutOfTime = "out_of_time" // the shell came so late that nobody would have waited for the answer
)

// A Caller takes originals one at a time and turns each into attempts and one
// ending. A Population gives it those of a plan; a server that calls another one
// can give it those of its own requests.
//
// An attempt is waited for until its timeout plus the grace, or its timeout
// alone when the caller hangs up. A success at or before the timeout and the
// deadline is good, a later one late. An answer at the very instant at which
// the wait ends still counts. When none has come by then the attempt is
// cancelled and ends as Timeout, at that instant, however late the shell was to
// say so.
//
// Behaviours make several attempts of an original. Each is waited for until its
// timeout or the deadline of the original, whichever comes first, and listened to
// for the grace after it. The first success in time makes the original good.
// Without one the first late success decides; without that the ending of the
// last attempt that was sent, once no further one is to come. An original of
// which no attempt was sent is Withheld or Unsent, by why its last one was not.
// What is outstanding when an original ends is cancelled.
//
// A Caller is used by one goroutine. Instants given to it must not decrease.
type Caller struct {
	classes []class
	grace   time.Duration // after a timeout; 0 when the caller hangs up
	most    int           // attempts outstanding at once; 0: no bound
	watcher Watcher
	redraw  *plan.Redraw // of the work of further attempts; nil: it is that of the first

	timers   timers // without behaviours
	alarms   alarms // with them
	chain    []link
	attempts attempts
	spare    originals
	effects  []Effect      // of the last Call, Advance or Abandon
	hangups  []Effect      // of the last Answer
	gone     []*Attempt    // cancelled by Answers since then: their shell has to let go of them first
	ending   record.Ending // the last one; filled in place, as copying it would cost as much as the rest of an answer

	open      int
	inFlight  int
	closing   bool     // everything is being abandoned: nothing is sent any more
	answering *Attempt // whose answer is being handled: it is not reused before that is over
}

// A Watcher learns what a Caller does, as it does it. Its methods may not call
// the Caller.
type Watcher interface {
	// Attempted says that a is being sent; first, that no other attempt of its
	// original has been.
	Attempted(a *Attempt, first bool)
	// Unattempted takes back that a was sent; first, that no other one has been.
	Unattempted(a *Attempt, first bool)
	// Ended says how an original ended. Neither argument is kept.
	Ended(original *plan.Arrival, e *record.Ending)
}

// class is what a Caller needs to know of a class.
type class struct {
	timeout  time.Duration
	deadline time.Duration
	queue    *waiting
}

// longest bounds timeouts, deadlines and the grace, so that no sum overflows.
const longest = 24 * time.Hour

// NewCaller returns a caller that tells w what it does. It returns an error for
// options outside their range, and for behaviours that cannot work in their order.
func NewCaller(o Options, w Watcher) (*Caller, error) {
	c := &Caller{}
	if err := c.init(o, w); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Caller) init(o Options, w Watcher) error {
	if len(o.Classes) == 0 {
		return errors.New("client: no classes: want at least one")
	}
	if o.Grace < 0 || o.Grace > longest {
		return fmt.Errorf("client: grace is %v: want 0 to %v", o.Grace, longest)
	}
	if o.MaxInFlight < 0 {
		return fmt.Errorf("client: max_in_flight is %d: want 0 (no bound) or more", o.MaxInFlight)
	}
	c.watcher, c.most = w, o.MaxInFlight
	if !o.Close {
		c.grace = o.Grace
	}
	for _, k := range o.Classes {
		known, err := newClass(k)
		if err != nil {
			return err
		}
		known.queue = c.timers.queue(known.timeout + c.grace)
		c.classes = append(c.classes, known)
	}
	chain, err := newChain(o.Behaviours)
	if err != nil {
		return err
	}
	c.chain = chain
	return nil
}

func newClass(c plan.Class) (class, error) {
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"timeout", c.Timeout},
		{"deadline", c.Deadline},
	} {
		if f.d <= 0 || f.d > longest {
			return class{}, fmt.Errorf("client: class %q: %s is %v: want above 0, up to %v", c.Name, f.name, f.d, longest)
		}
	}
	return class{timeout: c.Timeout, deadline: c.Deadline}, nil
}

// Open returns how many originals have been taken and not ended.
func (c *Caller) Open() int { return c.open }

// InFlight returns how many attempts are outstanding.
func (c *Caller) InFlight() int { return c.inFlight }

// Next returns the next instant at which Advance has something to do; Never
// when there is none.
func (c *Caller) Next() time.Duration {
	if len(c.chain) > 0 {
		return c.alarms.next()
	}
	return c.timers.due()
}

// Call takes an original that was due at its At, now or before. Its deadline is
// the instant deadline, or that of its class if that comes first. Seq is the
// caller's own, to find the original again. The effects are those of Advance.
func (c *Caller) Call(now time.Duration, original *plan.Arrival, deadline time.Duration) []Effect {
	c.recycle()
	c.call(now, original, deadline)
	return c.effects
}

// Advance handles what is due by now in the order of its instants; at one
// instant waits end before attempts are sent. A shell that comes late sends at
// now what was due earlier, unless nobody would wait for the answer any more.
//
// The effects are to be carried out in their order and before the next call of
// any method, which reuses the slice and the cancelled attempts.
func (c *Caller) Advance(now time.Duration) []Effect {
	c.recycle()
	for c.Next() <= now {
		c.step(now)
	}
	return c.effects
}

// Abandon ends everything at now: attempts are cancelled, and originals end as
// Unfinished. Those of which nothing was sent are Withheld for the reason for
// which they were held, or Unsent, out_of_time.
func (c *Caller) Abandon(now time.Duration) []Effect {
	c.recycle()
	c.closing = true
	for c.Next() <= now {
		c.step(now)
	}
	c.abandon(now)
	return c.effects
}

// Answer ends a with an answer that came at now. NotSent takes back that a was
// sent. An answer that comes after the wait for a has ended, which only a shell
// that is late to call Advance can bring, is no answer: the attempt timed out
// when the wait ended.
//
// The effects, all of them Cancel, are to be carried out before any other call;
// what is sent because of the answer is sent by the next Advance. a belongs to
// the caller again. Answering an attempt twice, or one that was cancelled, is a
// mistake of the programmer; it panics when it is noticed.
func (c *Caller) Answer(now time.Duration, a *Attempt, answer Answer) []Effect {
	if a.state.of != nil {
		return c.answered(now, a, answer)
	}
	if a.state.queue == nil {
		panic("client: answer to an attempt that is over")
	}
	c.leave(a)
	e := &c.ending
	*e = record.Ending{Sent: a.Sent, Done: now, Reason: answer.Reason}
	switch {
	case answer.Result == NotSent:
		c.watcher.Unattempted(a, true)
		e.Kind = record.Unsent
	case now > a.state.due:
		e.Kind, e.Reason, e.Done = record.Timeout, "", a.state.due
	case answer.Result == Rejected:
		e.Kind = record.Rejected
	case answer.Result == Failed:
		e.Kind = record.Failed
	case now <= a.Timeout && now <= a.Deadline:
		e.Kind, e.Degraded = record.Good, answer.Degraded
	default:
		e.Kind = record.Late
	}
	c.end(&a.Arrival)
	c.attempts.give(a)
	return nil
}

// recycle takes back the attempts that the effects of the last calls cancelled:
// the shell has let go of them by now.
func (c *Caller) recycle() {
	for _, e := range c.effects {
		if e.Kind == Cancel {
			c.attempts.give(e.Attempt)
		}
	}
	for _, a := range c.gone {
		c.attempts.give(a)
	}
	c.effects, c.gone = c.effects[:0], c.gone[:0]
}

// step handles the first thing that is due, at now or before.
func (c *Caller) step(now time.Duration) {
	if len(c.chain) > 0 {
		c.ring(now)
		return
	}
	a, due := c.timers.next()
	c.cancel(a, record.Timeout, due)
}

// abandon is the end of Abandon, when nothing is due any more.
func (c *Caller) abandon(now time.Duration) {
	for a, _ := c.timers.next(); a != nil; a, _ = c.timers.next() {
		c.cancel(a, record.Unfinished, now)
	}
	for len(c.alarms.heap) > 0 {
		c.giveUp(now, c.alarms.heap[0].state.of)
	}
	c.closing = false
}

// call is Call without the effects.
func (c *Caller) call(now time.Duration, original *plan.Arrival, deadline time.Duration) {
	kind := &c.classes[original.Class]
	if len(c.chain) > 0 {
		c.open++
		c.begin(now, original, min(deadline, original.At+kind.deadline))
		return
	}
	due := original.At + kind.queue.patience
	switch {
	case due <= now:
		c.refuse(original, ReasonOutOfTime)
		return
	case c.full():
		c.refuse(original, ReasonInFlight)
		return
	}
	c.open++
	a := c.attempts.take()
	a.Arrival, a.Number = *original, 1
	a.Planned, a.Sent = original.At, now
	a.Timeout, a.Deadline = original.At+kind.timeout, min(deadline, original.At+kind.deadline)
	a.state.due = due
	kind.queue.push(a)
	c.send(a, true)
}

// full reports whether no further attempt may be outstanding.
func (c *Caller) full() bool { return c.most > 0 && c.inFlight >= c.most }

// refuse ends an original that is not taken, at the instant at which it was due.
func (c *Caller) refuse(original *plan.Arrival, why string) {
	c.open++
	c.ending = record.Ending{Kind: record.Unsent, Reason: why, Done: original.At}
	c.end(original)
}

// send books a, which starts now, and has the shell send it.
func (c *Caller) send(a *Attempt, first bool) {
	c.inFlight++
	c.watcher.Attempted(a, first)
	c.effects = append(c.effects, Effect{Kind: Send, Attempt: a})
}

// cancel gives a up at done and ends its original.
func (c *Caller) cancel(a *Attempt, kind record.Kind, done time.Duration) {
	c.leave(a)
	c.ending = record.Ending{Kind: kind, Sent: a.Sent, Done: done}
	c.end(&a.Arrival)
	c.effects = append(c.effects, Effect{Kind: Cancel, Attempt: a})
}

// leave takes a, which is over, out of what is in flight.
func (c *Caller) leave(a *Attempt) {
	a.state.queue.remove(a)
	c.inFlight--
}

// end says that original ended, and how, which is in c.ending but for what the
// original itself says.
func (c *Caller) end(original *plan.Arrival) {
	c.open--
	c.ending.Step, c.ending.Class, c.ending.Planned = original.Step, original.Class, original.At
	c.watcher.Ended(original, &c.ending)
}

// never is the instant that does not come.
const never = protection.Never
