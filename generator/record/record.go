// Package record keeps what became of every request: counters and histograms by window, as deltas that add up.
//
// A Recorder has one writer and turns endings into Deltas. A Series adds
// Deltas up; it does so the same way whether they come from a running
// Recorder or from the file of a finished, or killed, run.
package record

import "time"

// Kind is how an original ended. Every original ends exactly once.
type Kind uint8

const (
	Good       Kind = iota // success, valid, in time
	Late                   // success, but after the timeout or the deadline
	Rejected               // the server said no; Reason says which no
	Timeout                // no answer by the end of the grace period
	Failed                 // transport or protocol failure, or a status that is neither success nor rejection
	Withheld               // the client decided not to send it
	Unsent                 // the generator could not send it
	Unfinished             // still open when the run ended
	kinds
)

// Window is the width of a counter window.
const Window = 200 * time.Millisecond

// NextWindow returns the first instant from now on at which a Window begins. A
// plan that is offered from there has windows that are also those of its steps,
// so that what is open at the ends of a step is known exactly.
func NextWindow(now time.Duration) time.Duration {
	return (now + Window - 1) / Window * Window
}

// HistWindow is the width of a histogram window.
const HistWindow = time.Second

// An Ending is what became of one original.
type Ending struct {
	Step     int // index of its step in the run
	Class    int // index of its class
	Kind     Kind
	Reason   string        // of Rejected, Failed, Withheld and Unsent
	Degraded bool          // of Good: the cheaper answer
	Planned  time.Duration // instant at which it was due
	Sent     time.Duration // instant at which the deciding attempt was sent; unused for Withheld and Unsent
	Done     time.Duration // instant of the ending
}

// StepInfo describes a step of a run.
type StepInfo struct {
	Index    int           `json:"index"`          // in the run, from 0
	Phase    string        `json:"phase"`          // label: hold, ramp, spike, sweep, settle, drain …
	Name     string        `json:"name,omitempty"` // what the profile calls its phase; "" when it does not
	Trial    int           `json:"trial"`          // steps of one trial share it, from 0
	Start    time.Duration `json:"start_ns"`       // since the start of the run
	Duration time.Duration `json:"duration_ns"`
	From     float64       `json:"from_rps"`
	To       float64       `json:"to_rps"`
}

// Rate returns the mean intended rate in arrivals per second.
func (s StepInfo) Rate() float64 { return (s.From + s.To) / 2 }

// Counts are numbers of originals, with Attempts beside them. At the end of a run
// Planned = Good + Late + Rejected + Timeout + Failed + Withheld + Unsent + Unfinished.
type Counts struct {
	Planned    uint64 `json:"planned"`
	Unsent     uint64 `json:"unsent"`
	Withheld   uint64 `json:"withheld"`
	Sent       uint64 `json:"sent"`
	Good       uint64 `json:"good"`
	Degraded   uint64 `json:"degraded"`
	Late       uint64 `json:"late"`
	Rejected   uint64 `json:"rejected"`
	Timeout    uint64 `json:"timeout"`
	Failed     uint64 `json:"failed"`
	Unfinished uint64 `json:"unfinished"`
	Attempts   uint64 `json:"attempts"`
	Hedges     uint64 `json:"hedges,omitempty"` // attempts beside others that were not answered yet; what is neither these nor Sent is retries
}

// Ended returns how many originals have ended, in whatever way.
func (c Counts) Ended() uint64 {
	return c.Good + c.Late + c.Rejected + c.Timeout + c.Failed + c.Withheld + c.Unsent + c.Unfinished
}

// A Tally is Counts with the reasons behind them. Nil maps are empty.
type Tally struct {
	Counts
	RejectedBy map[string]uint64
	FailedBy   map[string]uint64
	WithheldBy map[string]uint64
	UnsentBy   map[string]uint64
}

// Quantiles summarise one histogram. Values are exact to three digits.
type Quantiles struct {
	Count                    int64
	P50, P90, P99, P999, Max time.Duration // 0 when Count is 0: print nothing then
}
