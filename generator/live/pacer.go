package live

import "time"

// A pacer puts the loop to sleep until its next instant.
type pacer interface {
	// until returns at the given instant, or earlier when wake is ready.
	until(at time.Duration, wake <-chan struct{})
	// release gives back what the pacer holds.
	release()
}

// A timerPacer waits with the runtime's timer, which follows a fake clock.
type timerPacer struct {
	now   func() time.Duration
	timer *time.Timer
}

func newTimerPacer(now func() time.Duration) *timerPacer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerPacer{now: now, timer: t}
}

func (p *timerPacer) until(at time.Duration, wake <-chan struct{}) {
	p.sleep(at-p.now(), wake)
}

// sleep waits for d and reports whether it was not woken before.
func (p *timerPacer) sleep(d time.Duration, wake <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	p.timer.Reset(d)
	defer p.timer.Stop()
	select {
	case <-p.timer.C:
		return true
	case <-wake:
	}
	return false
}

func (p *timerPacer) release() { p.timer.Stop() }
