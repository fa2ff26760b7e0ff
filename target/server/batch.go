package server

import (
	"errors"
	"fmt"
	"time"

	"knee/target/fault"
	"knee/target/protection"
)

// check returns what is wrong with b.
func (b Batch) check(external bool) error {
	switch {
	case b.Size < 0:
		return fmt.Errorf("batch size is %d: want at least 0", b.Size)
	case b.Delay < 0 || b.Overhead < 0:
		return fmt.Errorf("batch delay and overhead are %v and %v: want at least 0", b.Delay, b.Overhead)
	case b.Size > 1 && external:
		return errors.New("batch with external work: want work that the core does: a batch is one piece of work")
	}
	return nil
}

// each returns how long a request keeps a worker in the mean, with batches that
// are full.
func (s *Spec) each() time.Duration {
	if s.Batch.Size > 1 {
		return s.Service + s.Batch.Overhead/time.Duration(s.Batch.Size)
	}
	return s.Service
}

// startBatch gives a free worker as many requests as a batch may have, and
// reports whether it did. While there are fewer, it waits for more until the
// oldest has waited as long as it may.
func (c *Core) startBatch(now time.Duration) bool {
	c.batchNext = protection.Never
	if c.nWaiting < c.spec.Batch.Size {
		if due := later(c.waiting.oldest.Arrived, c.spec.Batch.Delay); due > now {
			c.batchNext = due
			c.plug.tickNext = min(c.plug.tickNext, due)
			return false
		}
	}
	work := c.spec.Batch.Overhead
	var holder fault.Fault
	var first, last *protection.Request
	for n := 0; n < c.spec.Batch.Size; n++ {
		r := c.next(now)
		if r == nil {
			break
		}
		own := c.take(now, r)
		var held fault.Fault
		if len(c.treaters) > 0 {
			own, held = c.treat(now, r, own)
		}
		work = later(work, own)
		if holder == nil {
			holder = held
		}
		if first == nil {
			first = r
		} else {
			last.Links.Next = r
		}
		last = r
	}
	switch {
	case first == nil:
		return false
	case holder != nil:
		c.busy++
		c.stuck = append(c.stuck, stuck{by: holder, r: first, work: work})
	default:
		c.busy++
		c.work(now, work, first)
	}
	return true
}

// next takes the request to serve next out of the queue; nil when there is none.
// Those that are not worth starting any more are dropped on the way.
func (c *Core) next(now time.Duration) *protection.Request {
	for c.nWaiting > 0 {
		var l protection.Load
		c.load(now, &l)
		r := c.plug.order.Pop(now, l)
		if r == nil {
			return nil
		}
		c.takeOut(r)
		reason := c.pick(now, r)
		if reason == "" {
			return r
		}
		c.drop(now, r, reason)
	}
	return nil
}
