package serve

import (
	"fmt"
	"time"

	"knee/target/fault"
	"knee/target/protection"
	"knee/target/server"
)

// ReasonMalformed is why a request was dropped that was let in before all of it
// had arrived, and the rest could not be read.
const ReasonMalformed protection.Reason = "malformed"

// arrive hands c, all of which has been read, to the core. What becomes of it
// arrives as signals.
func (s *Server) arrive(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.register(c, now) {
		s.core.Arrive(now, &c.req)
		s.carry(now)
	}
}

// admit asks the core whether c, of which there is more to read, may enter. What
// it decides otherwise arrives as a signal too. While the process is said to
// stand still, c waits outside.
func (s *Server) admit(c *call) (in bool) {
	s.mu.Lock()
	now := s.now()
	if !s.register(c, now) {
		s.mu.Unlock()
		return false
	}
	s.core.Advance(now)
	if s.core.Paused() {
		s.outside = append(s.outside, c)
		s.carry(now)
		s.mu.Unlock()
		<-c.entered
		return c.held
	}
	defer s.mu.Unlock()
	c.held = s.core.Admit(now, &c.req) == ""
	s.carry(now)
	return c.held
}

// register makes c known, and refuses it when the server is closed. The lock is held.
func (s *Server) register(c *call, now time.Duration) (open bool) {
	s.nextID++
	c.req.ID = s.nextID
	if s.cfg.ShedAt == Accept {
		s.stranger(c, now)
	} else {
		s.identify(c)
	}
	if s.frozen {
		c.signals <- signal{kind: server.Refuse, answer: protection.Answer{Reason: server.ReasonReset}}
	}
	return !s.frozen
}

// enqueue lets c, which was let in, wait for a worker.
func (s *Server) enqueue(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if c.stranger {
		s.tally.leave(c)
		s.identify(c)
	}
	c.held = false
	s.core.Enqueue(now, &c.req)
	s.carry(now)
}

// release takes c out again if it was let in and not enqueued.
func (s *Server) release(c *call, why protection.Reason) {
	if !c.held {
		return
	}
	c.held = false
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	released := s.core.Release(now, &c.req, why)
	s.carry(now)
	if released {
		s.tally.reject(c, why)
		return
	}
	<-c.signals // a reset was faster
}

// finish reports that the work of c, done by its goroutine, has ended.
func (s *Server) finish(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.core.Finish(now, &c.req, protection.Served)
	s.carry(now)
}

// pay does the work that rejections have cost, for one worker.
func (s *Server) pay(work time.Duration, debtor uint64) {
	burn(work, &s.closed, &s.barrier)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.core.Paid(now, debtor)
	s.carry(now)
}

// wake lets time pass in the core; the timer calls it.
func (s *Server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.armed = protection.Never
	s.core.Advance(now)
	s.carry(now)
}

// carry carries out the effects of the last call of the core, lets in who waits
// outside when a pause is over, and sets the timer for what the core wants next.
// The lock is held.
func (s *Server) carry(now time.Duration) {
	s.carryOut(now)
	for len(s.outside) > 0 && !s.core.Paused() {
		c := s.outside[0]
		s.outside = s.outside[1:]
		c.held = s.core.Admit(now, &c.req) == ""
		s.carryOut(now)
		c.entered <- struct{}{}
	}
	s.barrier.set(s.core.Stalled())
	next := s.core.Next()
	if next == s.armed || s.frozen {
		return
	}
	s.armed = next
	if next == protection.Never {
		s.timer.Stop()
		return
	}
	s.timer.Reset(next - now)
}

// carryOut carries out the effects of the last call of the core.
func (s *Server) carryOut(now time.Duration) {
	for _, e := range s.core.Effects() {
		if e.Kind == server.Pay {
			go s.pay(e.Work, e.Debtor)
			continue
		}
		c := e.R.Shell.(*call)
		switch e.Kind {
		case server.Refuse:
			s.shed.Store(int64(now))
			s.tally.reject(c, e.Answer.Reason)
			c.over.Store(true)
		case server.Reply:
			s.tally.serve(c)
			c.over.Store(true)
		case server.Fail, server.Sever:
			s.tally.fail(c)
			c.over.Store(true)
		}
		c.signals <- signal{e.Kind, e.Work, e.Answer}
	}
}

// stranger fills in what is assumed of a caller that has not said anything yet.
func (s *Server) stranger(c *call, now time.Duration) {
	c.stranger = true
	c.req.Arrived, c.req.Deadline = now, protection.Never
	c.req.Criticality, c.req.Cost = protection.Critical, 1
	s.tally.arrive(c)
}

// Reset drops the queue and everything that the protections have learned.
// Callers inside are refused with reason "reset". Counts go on.
func (s *Server) Reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reset()
}

func (s *Server) reset() error {
	now := s.now()
	err := s.core.Reset(now)
	s.carry(now)
	return err
}

func checkWorkers(n int) error {
	if n < 0 {
		return fmt.Errorf("workers is %d: want at least 0", n)
	}
	return nil
}

// fixedWorkers is a fault that holds the number of workers at n.
type fixedWorkers struct{ n int }

func (f *fixedWorkers) Bend(_ time.Duration, c *fault.Conditions) time.Duration {
	c.Workers = f.n
	return protection.Never
}

// SetWorkers changes the number of workers to n, at least 0, until the next
// call. Workers that are busy and too many finish their requests first.
func (s *Server) SetWorkers(n int) error {
	if err := checkWorkers(n); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.workers != nil {
		s.core.Lift(now, s.workers)
	}
	s.workers = &fixedWorkers{n}
	s.core.Inject(now, s.workers)
	s.carry(now)
	return nil
}
