package protection

import (
	"errors"
	"strconv"
	"time"

	"knee/target/plugin"
)

// What a loadSignal can go by.
const (
	signalWait     = "wait"
	signalAge      = "age"
	signalInFlight = "in_flight"
)

// maxSignal bounds a load that has no bound, such as the wait for a server
// without workers.
const maxSignal = 1e6

// A loadSignal says how loaded a server is: 0 is idle, 1 is the setpoint.
//
//	wait       cost in the queue at the rate measured, over the setpoint
//	age        time that the oldest request in the queue has waited, over the setpoint
//	in_flight  requests inside, over how many may be
//
// wait is known as the queue grows, age only once it was waited for: when the
// load jumps to ten times capacity, the wait for all that came in while the
// oldest waited its setpoint is nine setpoints. With fifo, wait is what a request
// that arrives now will wait, and age what the next one served has waited. With
// lifo neither is: wait is how long the backlog takes to work off, and age is that
// of a request that may never be served, so it says how long there has been a
// backlog.
type loadSignal struct {
	kind     string
	setpoint float64 // seconds
	inFlight float64
}

// newLoadSignal returns the signal that the knobs signal, setpoint and in_flight
// describe. Of in_flight, 0 means what the workers and a queue of one setpoint
// hold as declared.
func newLoadSignal(s Setup, kind string, setpoint time.Duration, inFlight int) (loadSignal, error) {
	var errs []error
	switch kind {
	case signalWait, signalAge, signalInFlight:
	default:
		errs = append(errs, plugin.Knob("signal", strconv.Quote(kind), "wait, age or in_flight"))
	}
	if setpoint <= 0 {
		errs = append(errs, plugin.Knob("setpoint", setpoint, "a duration above 0"))
	}
	if inFlight < 0 {
		errs = append(errs, plugin.Knob("in_flight", inFlight, "a number of requests, at least 1"))
	}
	inside := float64(inFlight)
	if inFlight == 0 {
		inside = float64(s.Workers) * (1 + float64(setpoint)/float64(s.Service))
	}
	return loadSignal{kind, setpoint.Seconds(), inside}, errors.Join(errs...)
}

// at returns the load at now, from 0 to maxSignal.
func (s *loadSignal) at(now time.Duration, l *Load) float64 {
	x := 0.0
	switch {
	case s.kind == signalInFlight:
		x = float64(l.Admitted) / s.inFlight
	case l.Waiting == 0:
		return 0
	case s.kind == signalAge:
		x = (now - l.Oldest).Seconds() / s.setpoint
	default:
		x = l.QueuedCost / (l.CostRate * s.setpoint)
	}
	if x < maxSignal {
		return max(0, x)
	}
	return maxSignal // no worker is left, or it is not a number
}
