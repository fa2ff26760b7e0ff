// Package tui shows on a terminal how far a run is.
package tui

import "time"

// A Snapshot is what a run has to say about itself at one moment. Those who
// make them do so at a modest rate, such as ten a second, never once a request.
type Snapshot struct {
	Stage   string        // what is going on, such as "searching the knee"
	Load    float64       // offered now, requests per second; 0: none
	LoadX   float64       // the same as a multiple of capacity; 0: not known
	Done    time.Duration // how much of the run is over
	Total   time.Duration // how long it will take; 0: not known
	Goodput float64       // at the load that is offered now, per second
	Points  []Point       // the loads measured so far, in any order
	Note    string        // something worth a line, such as a warning; "" for none
}

// A Point is the goodput measured at one load, both per second.
type Point struct {
	Load, Goodput float64
}

// share returns how much of the run is over, 0 to 1, and whether it is known.
func (s Snapshot) share() (float64, bool) {
	if s.Total <= 0 {
		return 0, false
	}
	return min(max(float64(s.Done)/float64(s.Total), 0), 1), true
}
