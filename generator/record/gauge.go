package record

import "time"

// A Gauge is the state of the server at an instant, by its own word. Only the
// built-in server tells.
type Gauge struct {
	At      time.Duration `json:"at_ns"`   // on the run's clock
	Waiting int           `json:"waiting"` // requests that wait for a worker
	Running int           `json:"running"` // requests that a worker is busy with
	Workers int           `json:"workers"`
	Oldest  time.Duration `json:"oldest_ns"` // age of the oldest request that waits
	Limit   int           `json:"limit"`     // lowest limit on the requests inside that a protection sets; 0: none
}

// Inside returns how many requests the server holds.
func (g Gauge) Inside() int { return g.Waiting + g.Running }
