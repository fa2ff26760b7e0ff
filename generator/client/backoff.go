package client

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// The kinds of jitter.
const (
	jitterNone         = "none"
	jitterFull         = "full"
	jitterEqual        = "equal"
	jitterDecorrelated = "decorrelated"
)

// A Backoff is how long to wait before each repetition, as in "Exponential
// Backoff And Jitter" (AWS, 2015). With i, the number of the repetition counted
// from 0, and u, drawn uniformly from 0 up to 1:
//
//	none          t = min(Cap, Base × 2^i)
//	full          u × t
//	equal         t/2 + u × t/2
//	decorrelated  min(Cap, Base + u × (3 × the wait before - Base)), that wait being Base at first
//
// The simulator that came with the article counts i from 1 for full and equal, so
// that its waits are twice as long.
type Backoff struct {
	Base   time.Duration `yaml:"base" doc:"wait before the first repetition, before jitter; 0 for none, up to 1h"`
	Cap    time.Duration `yaml:"cap" doc:"longest wait, at least base, up to 24h"`
	Jitter string        `yaml:"jitter" doc:"how waits spread: none, full (from 0 to the whole), equal (from half to the whole) or decorrelated (from base to three times the wait before)"`
}

func (b *Backoff) check() error {
	var errs []error
	if b.Base < 0 || b.Base > time.Hour {
		errs = append(errs, plugin.Knob("backoff.base", b.Base, "0 to 1h"))
	}
	if b.Cap < max(b.Base, 0) || b.Cap > longest {
		errs = append(errs, plugin.Knob("backoff.cap", b.Cap, "at least the base, up to 24h"))
	}
	switch b.Jitter {
	case jitterNone, jitterFull, jitterEqual, jitterDecorrelated:
	default:
		errs = append(errs, plugin.Knob("backoff.jitter", b.Jitter, "none, full, equal or decorrelated"))
	}
	return errors.Join(errs...)
}

// exponential returns min(Cap, Base × 2^i).
func (b *Backoff) exponential(i int) time.Duration {
	t := b.Base
	for ; i > 0 && t > 0 && t < b.Cap; i-- {
		t *= 2
	}
	return min(t, b.Cap)
}

// Wait returns the wait before repetition i, counted from 0. before is the wait
// before the one before, for which 0 stands at first; u is from 0 up to 1.
func (b *Backoff) Wait(i int, before time.Duration, u float64) time.Duration {
	t := b.exponential(i)
	switch b.Jitter {
	case jitterFull:
		return time.Duration(u * float64(t))
	case jitterEqual:
		return t/2 + time.Duration(u*float64(t/2))
	case jitterDecorrelated:
		if i == 0 {
			before = b.Base
		}
		return min(b.Cap, b.Base+time.Duration(u*float64(3*before-b.Base)))
	}
	return t
}

// longest returns the longest that repetition i can have to wait, and before
// that the one before.
func (b *Backoff) longest(i int, before time.Duration) time.Duration {
	if b.Jitter == jitterDecorrelated {
		return b.Wait(i, before, 1)
	}
	return b.exponential(i)
}
