package server_test

import (
	"testing"
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// arrival is what a test offers: an instant and an amount of work.
type arrival struct{ at, work time.Duration }

// outcome is what became of a load whose callers wait for timeout.
type outcome struct {
	good, late, refused, dropped int
	peak                         int           // most that waited
	longestWait                  time.Duration // of those served
	firstNo                      time.Duration // instant of the first refusal or drop; Never when none
	goodBySecond                 []int         // by the instant of the answer
}

// drive offers load to a server whose shell wakes at each instant that the core
// wants, and waits until it is empty.
func drive(tb testing.TB, s server.Spec, timeout time.Duration, load func(yield func(arrival) bool)) outcome {
	tb.Helper()
	c, err := server.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	o := outcome{firstNo: protection.Never}
	collect := func() {
		for _, e := range c.Effects() {
			r := e.R
			if e.Kind == server.Refuse {
				o.firstNo = min(o.firstNo, e.At)
				continue
			}
			o.longestWait = max(o.longestWait, r.Started-r.Arrived)
			if e.At-r.Arrived > timeout {
				o.late++
				continue
			}
			o.good++
			for len(o.goodBySecond) <= int(e.At/time.Second) {
				o.goodBySecond = append(o.goodBySecond, 0)
			}
			o.goodBySecond[e.At/time.Second]++
		}
	}
	var id uint64
	for a := range load {
		id++
		c.Arrive(a.at, &protection.Request{ID: id, Cost: 1, Work: a.work, Arrived: a.at, Deadline: a.at + timeout})
		o.peak = max(o.peak, c.Gauges(a.at).Waiting)
		collect()
	}
	for c.Gauges(0).Admitted > 0 && c.Next() != protection.Never { // a protection may tick for ever
		c.Advance(c.Next())
		collect()
	}
	n := c.Counts()
	for _, k := range n.Refused {
		o.refused += int(k)
	}
	for _, k := range n.Dropped {
		o.dropped += int(k)
	}
	if n.Arrived != id || int(id) != o.good+o.late+o.refused+o.dropped || int(n.Served) != o.good+o.late {
		tb.Errorf("%d arrivals do not add up: %+v, %+v", id, n, o)
	}
	return o
}

// even yields n arrivals at rate a second, in whole nanoseconds as k/rate.
func even(n, rate int, work time.Duration) func(yield func(arrival) bool) {
	return func(yield func(arrival) bool) {
		for k := range n {
			if !yield(arrival{time.Duration(k) * time.Second / time.Duration(rate), work}) {
				return
			}
		}
	}
}
