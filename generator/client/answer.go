package client

import (
	"time"

	"knee/generator/record"
)

// Answer ends a with an answer that came at now. NotSent takes back that a was
// sent. An answer that comes after the wait for a has ended, which only a shell
// that is late to call Advance can bring, is no answer: the attempt timed out
// when the wait ended.
//
// The effects are to be carried out like those of Advance. a belongs to the
// population again. Answering an attempt twice, or one that was cancelled, is a
// mistake of the programmer; it panics when it is noticed.
func (p *Population) Answer(now time.Duration, a *Attempt, answer Answer) []Effect {
	if a.state.queue == nil {
		panic("client: answer to an attempt that is over")
	}
	p.leave(a)
	e := &p.ending
	*e = record.Ending{Sent: a.Sent, Done: now, Reason: answer.Reason}
	switch {
	case answer.Result == NotSent:
		p.recorder.Unsend(a.Arrival.Step, a.Arrival.Class, a.Arrival.At, a.Planned, a.Sent, a.Number == 1)
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
	p.end(&a.Arrival)
	p.attempts.give(a)
	return nil
}
