package client

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// Reasons of originals that were not sent from a bounded buffer.
const (
	ReasonBufferFull    = "buffer_full"    // it had no room for longer than max_block
	ReasonBufferExpired = "buffer_expired" // its deadline came while it was in the buffer
)

func init() {
	Registry.Register(plugin.Info[NewBehaviour]{
		Name:  "blocking",
		Doc:   "sends from a bounded buffer at the source; when that is full a caller blocks for a while, then gives up (Kafka's producer)",
		Worse: "with a buffer that takes longer to empty than the deadline: it sends what nobody waits for any more, as a queue would",
		Knobs: func() any {
			return &blockingKnobs{MaxInFlight: 5, Buffer: 100, MaxBlock: time.Minute, Per: perClient}
		},
		New: newBlocking,
	})
}

type blockingKnobs struct {
	MaxInFlight int           `yaml:"max_in_flight" doc:"attempts that may be open, 1 to 1000000"`
	Buffer      int           `yaml:"buffer" doc:"attempts that may wait for that, 0 to 1000000"`
	MaxBlock    time.Duration `yaml:"max_block" doc:"how long to wait for room in the buffer, 0 to 24h; at most until the deadline"`
	Per         string        `yaml:"per" doc:"whose buffer it is: client (every caller has its own) or all (one for the whole population)"`
}

// blocking holds attempts as Kafka's producer does: up to MaxInFlight are open, so
// many more in the buffer, and the rest wait for room in it, all in the order in
// which they came. Kafka measures its buffer in bytes of batches and has a thread
// block; here each attempt takes one place, and the load is open, so that any
// number can block at once.
type blocking struct {
	blockingKnobs
	states  states[sendBuffer]
	touched *sendBuffer
}

// sendBuffer is the buffer of one caller.
type sendBuffer struct {
	open             int
	buffered, behind heldList // in the buffer; waiting for room in it
}

// Where an attempt is, in its mark.
const (
	isOpen uint64 = iota
	isBuffered
	isBlocked
)

func newBlocking(s Setup, knobs any) (Behaviour, error) {
	k := *knobs.(*blockingKnobs)
	var errs []error
	if k.MaxInFlight < 1 || k.MaxInFlight > 1e6 {
		errs = append(errs, plugin.Knob("max_in_flight", k.MaxInFlight, "1 to 1000000"))
	}
	if k.Buffer < 0 || k.Buffer > 1e6 {
		errs = append(errs, plugin.Knob("buffer", k.Buffer, "0 to 1000000"))
	}
	if k.MaxBlock < 0 || k.MaxBlock > longest {
		errs = append(errs, plugin.Knob("max_block", k.MaxBlock, "0 to 24h"))
	}
	if err := errors.Join(append(errs, checkPer(k.Per))...); err != nil {
		return nil, err
	}
	return &blocking{blockingKnobs: k, states: newStates(s, k.Per, func() *sendBuffer { return &sendBuffer{} })}, nil
}

func (b *blocking) Before(now time.Duration, a *Attempt) (time.Duration, string) {
	s := b.states.get(a)
	switch {
	case s.open < b.MaxInFlight: // then none waits
		s.open++
		return now, ""
	case s.buffered.n < b.Buffer: // then none is blocked
		a.Mark.Count = isBuffered
		s.buffered.push(a)
		return never, ReasonBufferExpired
	case b.MaxBlock == 0:
		return now, ReasonBufferFull
	}
	a.Mark.Count = isBlocked
	s.behind.push(a)
	return now + b.MaxBlock, ReasonBufferFull
}

func (b *blocking) After(_ time.Duration, a *Attempt, _ Answer) time.Duration {
	s := b.states.get(a)
	b.touched = s
	switch a.Mark.Count {
	case isOpen:
		s.open--
	case isBuffered:
		s.buffered.remove(a)
		b.fill(s)
	default:
		s.behind.remove(a)
	}
	return never
}

// Release lets go what has waited longest at the caller touched last, if fewer are
// open than may be.
func (b *blocking) Release(time.Duration) *Attempt {
	s := b.touched
	if s.open >= b.MaxInFlight {
		return nil
	}
	a := s.buffered.pop()
	if a == nil {
		a = s.behind.pop() // there is no buffer
	}
	if a == nil {
		return nil
	}
	b.fill(s)
	a.Mark.Count = isOpen
	s.open++
	return a
}

// fill moves what is blocked into the room of the buffer.
func (b *blocking) fill(s *sendBuffer) {
	for s.buffered.n < b.Buffer && s.behind.n > 0 {
		a := s.behind.pop()
		a.Mark.Count = isBuffered
		a.Hold(never, ReasonBufferExpired)
		s.buffered.push(a)
	}
}
